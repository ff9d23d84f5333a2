"""`excerpt overview`: show what a vault contains about a topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.base.settings import MAX_TOKENS
from excerpt.cli.pack import TokenCountParameter
from excerpt.cli.printing import escape_for_stdout, print_json, print_line, print_message
from excerpt.cli.vaults import add_vaults, load_vault, refresh_option, vaults_option
from excerpt.text.display import format_count

if TYPE_CHECKING:
    from excerpt import Overview


@click.command()
@click.argument("topic", nargs=-1, required=True)
@vaults_option
@click.option(
    "--budget",
    type=TokenCountParameter(1, MAX_TOKENS),
    help="The maximum number of tokens, counted with the tokenizer of the settings.  [default: 800]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON with everything that was found, regardless of the budget."
)
@refresh_option
def overview_command(
    *, topic: tuple[str, ...], vaults: tuple[Path, ...], budget: int | None, as_json: bool, no_refresh: bool
) -> int:
    """Show what the vault contains about TOPIC.

    Prints the main notes and sections about TOPIC, key passages, themes, prominent tags and folders, related notes,
    dates and other names, as Markdown within a token budget. TOPIC is a query as for `excerpt search`, and can have
    filters.
    """
    with load_vault(vaults, refresh=not no_refresh) as notes:
        overview = notes.overview(" ".join(topic), budget=budget)
        text = "" if as_json else overview.text
        tokens = notes.tokens(text)
    if as_json:
        print_json(add_vaults(notes, overview.to_dict()))
    elif overview.found:
        print_line(escape_for_stdout(text), end="")
        print_message(_summarize_overview(overview, tokens))
    else:
        print_message(f"No note is about {overview.topic!r}.")
    return 0 if overview.found else 1


def _summarize_overview(overview: Overview, tokens: int) -> str:
    """Return a sentence about an overview whose printed text has `tokens` tokens."""
    if not tokens:
        budget = format_count(overview.budget, "token")
        return f"The overview does not fit into {budget}, not even its first lines. Give a larger --budget."
    used = f"{tokens:,} of {format_count(overview.budget, 'token')}"
    return f"{format_count(overview.notes, 'note')} about {overview.topic!r} · {used}"
