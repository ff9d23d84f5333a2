"""How the inks of drawn lines look: their component classes, and what a theme gives each."""

from __future__ import annotations

from excerpt.tui.inked_line import Ink

INKS = {
    Ink.NEAR: "ink--near",
    Ink.PROPERTY: "ink--property",
    Ink.QUOTE: "ink--quote",
    Ink.HEADING: "ink--heading",
    Ink.CALLOUT: "ink--callout",
    Ink.TIP: "ink--tip",
    Ink.WARNING: "ink--warning",
    Ink.DANGER: "ink--danger",
    Ink.CODE: "ink--code",
    Ink.KEYWORD: "ink--keyword",
    Ink.STRING: "ink--string",
    Ink.NUMBER: "ink--number",
    Ink.NAME: "ink--name",
    Ink.COMMENT: "ink--comment",
    Ink.LINK: "ink--link",
    Ink.TAG: "ink--tag",
    Ink.BOLD: "ink--bold",
    Ink.ITALIC: "ink--italic",
    Ink.STRIKE: "ink--strike",
    Ink.DONE: "ink--done",
    Ink.FAINT: "ink--faint",
    Ink.HIGHLIGHT: "ink--highlight",
    Ink.MATCH: "ink--match",
}
"""Each ink's component class; of several on one run, the later lies over the earlier."""

INK_CSS = """
Preview {
    & > .ink--near { background: $surface-active; }
    & > .ink--property { color: $primary; }
    & > .ink--quote { text-style: italic; }
    & > .ink--heading { color: $primary; text-style: bold; }
    & > .ink--callout { color: $secondary; }
    & > .ink--tip { color: $success; }
    & > .ink--warning { color: $warning; }
    & > .ink--danger { color: $error; }
    & > .ink--code { color: $ink-code; background: $surface; }
    & > .ink--keyword { color: $secondary; background: $surface; text-style: bold; }
    & > .ink--string { color: $success; background: $surface; }
    & > .ink--number { color: $warning; background: $surface; }
    & > .ink--name { color: $primary; background: $surface; }
    & > .ink--comment { color: $text-faint; background: $surface; text-style: italic; }
    & > .ink--link { color: $primary; text-style: underline; }
    & > .ink--tag { color: $secondary; }
    & > .ink--bold { text-style: bold; }
    & > .ink--italic { text-style: italic; }
    & > .ink--strike { text-style: strike; }
    & > .ink--done { color: $text-faint; text-style: strike; }
    & > .ink--faint { color: $text-faint; }
    & > .ink--highlight { background: $highlight-background; }
    & > .ink--match { color: $match-foreground; background: $match-background; text-style: bold; }
}
"""
"""Text-style tells apart what can be confused without colours; signs and words the rest."""
