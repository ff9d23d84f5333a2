"""The list of the hits, the texts in place of it, and the keys that do something with a hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from excerpt.base.kinds import LinkForm
from excerpt.service.engine_worker import EngineWorker
from excerpt.text.columns import truncate
from excerpt.text.display import format_count, format_lines, visible_line
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.key_table import HIT_ACTIONS
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.controller import RecallController, is_memory
from excerpt.tui.messages import (
    CopyRequested,
    CopyTarget,
    EditRequested,
    MemoryEditRequested,
    MemoryShowRequested,
    ObsidianRequested,
    RememberRequested,
)
from excerpt.tui.pack.controller import PackController, mark_hit
from excerpt.tui.pack.labels import passage_count, stop_label
from excerpt.tui.picking import PickOptions, path_for_shell
from excerpt.tui.search.hit_list import HitList, arrange_hits, is_by_date
from excerpt.tui.search.notices import is_unanswered, no_hits_notice
from excerpt.tui.search.query_bar import QueryBar

if TYPE_CHECKING:
    from excerpt.base.model import Hit, Memory, Result
    from excerpt.pack.selection import MarkedFragment
    from excerpt.search.usage import UnsureQuestions, UsedHit
    from excerpt.tui.pack.panel import PackPanelSelection, PackRows
    from excerpt.tui.search.side_panel import SidePanel
    from excerpt.tui.search.start_list import StartController, StartList
    from excerpt.vault.known_vaults import VaultFolders

_NEAREST_HITS = 3
"""Number of hits that one key marks if nothing answers the query."""
_MIN_ROWS_FOR_SNIPPETS = 30
"""Minimum rows of the terminal for a list with the snippets of the hits in the pack."""

_MAX_QUERY_COLUMNS = 24
"""Maximum columns of the query that the status names as that of some marks."""

NO_FILES = "The notes are in a store: there is no file to open."


class SelectedRowKind(Enum):
    """Kind of the hit that keys of the Search tab apply to: none, a fragment or a memory."""

    NOTHING = "nothing"
    FRAGMENT = "fragment"
    MEMORY = "memory"


class HitState(Struct, frozen=True):
    """The state by which actions on a hit are enabled or disabled.

    `has_query`: the query is not empty. `row_kind`: kind of the hit that keys apply to. `is_on_name`: the side panel
    has the focus, and the name of a note is selected there instead of a passage. `is_in_panel`: the pack panel has the
    focus and has rows; `selection` is its selected row. `is_on_start_row`: the start list has the focus. `has_marks`: a
    fragment is marked for the pack. `has_correction`: a corrected spelling of the query is suggested. `has_no_answer`:
    no hit is likely to answer. `has_files`: the notes are files on this computer, and not in a store.
    """

    has_query: bool = False
    row_kind: SelectedRowKind = SelectedRowKind.NOTHING
    is_on_name: bool = False
    is_in_panel: bool = False
    selection: PackPanelSelection | None = None
    is_on_start_row: bool = False
    has_marks: bool = False
    has_correction: bool = False
    has_no_answer: bool = False
    has_files: bool = True


class HitPane(Vertical):
    """The list of the hits, or a notice and the start list in place of it.

    Keys apply to the selected hit, or to the side panel's passage while that panel has the focus. `side` and
    `pack_rows` are given by `mount_start_list`, after the first frame.
    """

    DEFAULT_CSS = """
    HitPane {
        height: 1fr;
        &.-unanswered {
            HitList > .hit--title { text-style: none; color: $text-soft; }
            HitList > .hit--heading { color: $text-faint; }
            HitList > .hit--score-3, HitList > .hit--score-4 { color: $text-faint; }
            HitList > .hit--score-5 { color: $text-faint; text-style: none; }
            HitList > .row--match { color: $text-soft; text-style: none; }
        }
        #hits, #start { height: 1fr; }
        &.-start #notice { height: auto; max-height: 60%; padding: 1 2; }
    }
    """

    is_populated = False
    """Whether the start list is mounted, and the panels that keys apply to are known."""
    side: SidePanel
    pack_rows: PackRows
    start: StartController
    start_list: StartList

    def __init__(
        self,
        engine: EngineWorker,
        bar: QueryBar,
        pack: PackController,
        memories: RecallController,
        *,
        folders: VaultFolders | None,
        pick: PickOptions | None,
        on_decision: Callable[[bool], object],
        open_pack_row: Callable[[], object],
        copy_pack: Callable[[CopyTarget], object],
        is_up_to_date: Callable[[], bool],
        search: Callable[[], object],
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Prepare the list. `folders` are the vaults, None for a store. With `pick`, what is picked is printed.

        `on_decision` is called after a key that changes the marks, with True if they changed. `open_pack_row` shows the
        selected row of the pack panel, `copy_pack` copies the pack, and `search` searches again. `is_up_to_date`
        returns whether the newest query and its pack are answered.
        """
        super().__init__(id=id)
        self.hit_list = HitList(id="hits")
        self._notice = Notice(id="notice")
        self._engine, self._bar, self._pack, self._memories = engine, bar, pack, memories
        self._folders = folders
        self._has_files = folders is not None
        self._pick = pick
        self._on_decision = on_decision
        self._open_pack_row = open_pack_row
        self._copy_pack = copy_pack
        self._is_up_to_date = is_up_to_date
        self._search = search
        self._has_error = False
        self._result: Result | None = None
        self._last_warnings: tuple[str, ...] = ()
        """The warnings of the last result, each of which is shown in full when it comes."""
        self._unsure_questions: UnsureQuestions | None = None  # created with the first result
        self.link_form = LinkForm.WIKILINK
        """The form of the last link that was copied."""
        self._marked_hits: dict[str, UsedHit] = {}
        """Hits that were marked, with their queries of that time, by the ids of their fragments."""
        self._pending_selection_id = ""
        """Id of the fragment to select in the next result; "" for none."""

    def compose(self) -> ComposeResult:
        yield self.hit_list
        yield self._notice

    def on_mount(self) -> None:
        self.fit_height()

    def fit_height(self) -> None:
        """Show or hide snippets, as the height of the terminal allows."""
        self.hit_list.has_snippets = self.app.size.height >= _MIN_ROWS_FOR_SNIPPETS

    async def mount_start_list(self, side: SidePanel, pack_rows: PackRows) -> None:
        """Mount the start list, which the first frame does not show. Keys apply to these panels too from now on."""
        from excerpt.tui.search.start_list import StartController, StartList

        self.start = StartController(self._engine, on_change=self.show_start)
        self.start_list = StartList(self.start, id="start")
        self.start_list.display = False
        await self.mount(self.start_list)
        self.side, self.pack_rows = side, pack_rows
        self.is_populated = True

    @property
    def best_hits(self) -> Sequence[Hit]:
        """The hits in order of rank."""
        return self._result.best_first if self._result is not None else ()

    def show_result(
        self, result: Result | None, error: EmptyState | None, placeholder: EmptyState, progress: str
    ) -> None:
        """Show what replaces a list without hits.

        Without a result, that is the `error` of the search or the `placeholder`. `progress` is the progress of the
        index.
        """
        self._result, self._has_error = result, error is not None
        if result is not None or self._unsure_questions is not None:
            self._note_question(result)
        self.hit_list.display = bool(result and result.hits)
        self.show_earlier_count()
        self._notice.display = not self.hit_list.display
        self.show_start()
        self.set_class(is_unanswered(result), "-unanswered")
        if result is None:
            self._notice.empty_state = error or placeholder
        elif not result.hits:
            self._notice.empty_state = no_hits_notice(result, progress, self._bar.correction)

    def _note_question(self, result: Result | None) -> None:
        from excerpt.search.usage import READING_SECONDS, UnsureQuestions

        if self._unsure_questions is None:
            self._unsure_questions = UnsureQuestions()
        query = result.query if result is not None else ""
        has_nothing_sure = result is not None and result.has_nothing_sure
        self._unsure_questions.ask(query, is_unsure=has_nothing_sure, now=monotonic(), min_seconds=READING_SECONDS)

    def notify_warnings(self, result: Result | None) -> None:
        """Show the warnings of a result, unless those of the last one were the same."""
        if result is None or (result.is_without_meaning and not result.warnings):
            return
        for warning in result.warnings:
            if warning not in self._last_warnings:
                self.notify(visible_line(warning), severity="warning", markup=False)
        self._last_warnings = result.warnings

    def show_start(self) -> None:
        """Show the start list below the notice until there is a query, if the list has rows."""
        if not self.is_populated:
            return
        rows = self.start_list
        is_shown = self._result is None and not self._has_error and bool(self.start.rows(room=1))
        if rows.has_focus and not is_shown:
            self._bar.field.focus()
        rows.display = is_shown
        self.set_class(is_shown, "-start")
        rows.update_rows()

    def show_rows(self, result: Result | None, *, is_repeat: bool) -> None:
        """List the hits, with memories among them; `is_repeat` says that the same query was answered again."""
        self._result = result
        if result is None:
            self._memories.clear_hits()
        hits = self._memories.merge_rows(arrange_hits(result) if result is not None else ())
        best_first = result.best_first if result is not None and is_by_date(result) else None
        query = result.query if result is not None else ""
        self.hit_list.show(hits, query, is_repeat=is_repeat, best_first=best_first)

    def show_badges(self) -> None:
        """Show which fragments memories are about, and which listed memories have a source that has changed."""
        self.hit_list.remembered_ids = self._memories.badges
        self.hit_list.source_states = self._memories.source_states

    def show_marks(self) -> None:
        """Show which fragments are marked and which are in the pack."""
        self.hit_list.marked_ids = self._pack.choices.marked_ids
        self.hit_list.packed_ids = self._pack.packed_fragments
        self.show_earlier_count()

    def show_pack_end(self) -> None:
        """Show below which row the pack of the best hits ends, and why.

        Without a rule, signs show what is packed: of marks, and in a list in order of date.
        """
        pack = self._pack
        if not pack.is_answered:
            self.hit_list.show_pack_end(None)
            return
        newest, text = pack.newest_pack, ""
        by_date = self._result is not None and is_by_date(self._result)
        if newest is not None and newest.result.passages and not pack.choices.marks and not by_date:
            size = f"{passage_count(newest.result)}, {format_count(newest.result.tokens, 'token')}"
            text = f"{stop_label(newest.result)}: {size}"
        self.hit_list.show_pack_end(text)

    def show_earlier_count(self) -> None:
        """Show in the status how many marks are of an earlier session, or of fragments that are not listed."""
        marks, text, short = self._pack.earlier_or_unlisted_marks, "", ""
        if marks and self.hit_list.display:
            is_new = any(mark.fragment_id in self._pack.choices.marked_ids for mark in marks)
            where = self._name_mark_origin(marks) if is_new else "from last time"
            # The keys are letters of the list.
            keys = f"{key_sign('back')} {key_sign('show-earlier')} {'show' if is_new else 'add'}"
            count = format_count(len(marks), "mark")
            text = f"{count} {where}: {keys}, {key_sign('drop-earlier')} clear"
            short = f"{count}: {keys}"
        self._bar.status.earlier_marks, self._bar.status.earlier_marks_short = text, short

    def _name_mark_origin(self, marks: Sequence[MarkedFragment]) -> str:
        """Return the query for which all of `marks` were set, if there is one: `of “sync conflict”`."""
        used = [self._marked_hits.get(mark.fragment_id) for mark in marks]
        queries = {each.query if each is not None else "" for each in used}
        query = queries.pop() if len(queries) == 1 else ""
        return f"of “{truncate(visible_line(query), _MAX_QUERY_COLUMNS)}”" if query else "not in this list"

    def select_later(self, fragment_id: str) -> None:
        """Select a fragment as soon as the next hits are listed."""
        self._pending_selection_id = fragment_id

    def select_pending_fragment(self) -> None:
        """Select the fragment that `select_later` was called with, now that the hits are listed."""
        fragment, self._pending_selection_id = self._pending_selection_id, ""
        if fragment:
            self.hit_list.select_fragment(fragment)

    def marked_hits(self) -> Sequence[UsedHit]:
        """Return the hits that are marked, as they were found."""
        used = (self._marked_hits.get(mark.fragment_id) for mark in self._pack.choices.marks)
        return [each for each in used if each is not None]

    def focus_list(self) -> None:
        """Focus the list, or the query if there are no hits."""
        (self.hit_list if self.hit_list.display else self._bar.field).focus()

    def move_in_start_list(self, rows: int) -> None:
        """Move the cursor of the start list; from the query go down into the list, from its first row up out of it."""
        if not self.start_list.has_focus:
            if rows > 0:
                self.start_list.focus()
        elif rows < 0 and not self.start_list.cursor:
            self._bar.field.focus()
        else:
            self.start_list.move(rows)

    @property
    def target_hit(self) -> Hit | None:
        """The hit that keys apply to: the side panel's passage if that panel has the focus, else the selected hit."""
        return self.side.passage if self.is_populated and self.side.has_focus_within else self.hit_list.selected

    @property
    def _target_memory(self) -> Memory | None:
        hit = self.target_hit
        return self._memories.find_memory(hit.fragment.id) if hit is not None else None

    @property
    def key_state(self) -> HitState:
        """The state by which actions on a hit are enabled or disabled."""
        has_query = bool(self._bar.text.strip())
        if not self.is_populated:
            return HitState(has_query=has_query, has_files=self._has_files)
        hit, panel, side = self.target_hit, self.pack_rows, self.side
        on_name = side.has_focus_within and side.view == "related" and side.related.reason is not None
        kind = SelectedRowKind.NOTHING
        if hit is not None:
            kind = SelectedRowKind.MEMORY if is_memory(hit) else SelectedRowKind.FRAGMENT
        return HitState(
            has_query=has_query,
            row_kind=kind,
            is_on_name=on_name and hit is None,
            is_in_panel=panel.has_focus and panel.row_count > 0,
            selection=panel.selection,
            is_on_start_row=self.start_list.has_focus,
            has_marks=bool(self._pack.choices.marks),
            has_correction=bool(self._bar.correction),
            has_no_answer=self._is_up_to_date() and self._pack.has_no_answer,
            has_files=self._has_files,
        )

    def row_absence_reason(self) -> str:
        """Return why there is no hit that keys apply to, as a sentence; "" if there is one."""
        return "" if self.target_hit is not None else _row_absence_reason(has_query=bool(self._bar.text.strip()))

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - as others have it
        """Return why an action on a hit is disabled, as a sentence; "" if the action is enabled."""
        return hit_disabled_reason(action, self.key_state)

    @on(HitList.MarkClicked)
    def _toggle_clicked_mark(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self._toggle_mark_and_move(0)

    def _toggle_mark_and_move(self, rows: int) -> None:
        hit = self.hit_list.selected
        if hit is not None:
            self._toggle_mark(hit)
            self.hit_list.move(rows)

    def _toggle_mark(self, hit: Hit) -> None:
        is_marked = hit.fragment.id in self._pack.choices.marked_ids
        if not is_marked and (used := self._find_used_hit(hit)) is not None:
            self._marked_hits[hit.fragment.id] = used
        self._on_decision(self._pack.toggle_mark(mark_hit(hit)))

    def action_mark(self) -> None:
        """Toggle the mark of the selected hit or the side panel's passage; in a list, select the next row."""
        if not self.side.has_focus_within:
            self._toggle_mark_and_move(1)
        elif (hit := self.side.passage) is not None:
            self._toggle_mark(hit)
            if self.side.view == "related":
                self.side.move(1)

    def action_mark_nearest(self) -> None:
        """Mark the hits nearest to a query that nothing answers."""
        marks = [mark_hit(hit) for hit in self.best_hits[:_NEAREST_HITS]]
        self._on_decision(self._pack.replace_choices(self._pack.choices.with_marks(marks)))

    def _find_used_hit(self, hit: Hit) -> UsedHit | None:
        """Return the record that the user used `hit` for the query; None if it is not in the list, such as a memory."""
        from excerpt.search.usage import find_used_hit

        result = self._result
        if result is None:
            return None
        used = find_used_hit(result.query, result.best_first, hit.fragment.id)
        if used is None or self._unsure_questions is None:
            return used
        return structs.replace(used, earlier=self._unsure_questions.use(monotonic()))

    def action_edit(self) -> None:
        """Handle enter: pass it to the focused panel, else open the note in the editor.

        For a memory, its source is opened. Without hits, the corrected query is used.
        """
        hit, memory = self.target_hit, self._target_memory
        if self.pack_rows.has_focus:
            self._open_pack_row()
        elif self.start_list.has_focus:
            self._use_selected_start_row()
        elif self.side.has_focus_within and self.side.handle_enter():
            return
        elif memory is not None:
            if memory.source is None:
                self.notify("This memory is your own thought: it has no source to open.")
            else:
                source = memory.source
                self.post_message(EditRequested(source.path, max(source.line_start, 1), place=source.place))
        elif hit is not None:
            picked_lines = self.side.preview.picked_lines if self.side.has_focus_within else None
            line = picked_lines.first if picked_lines is not None else hit.fragment.line_start
            used = self._find_used_hit(hit)
            self.post_message(EditRequested(hit.fragment.path, line, hit.fragment.place, used))
        elif self._bar.correction:
            self._bar.set_query(self._bar.correction)

    def _use_selected_start_row(self) -> None:
        """Run the query, show the memory or open the note of the start list's selected row."""
        row = self.start_list.selected
        if row is None:
            return
        if row.query:
            self._bar.field.focus()
            self._bar.set_query(row.query)
        elif row.memory_id:
            self.post_message(MemoryShowRequested(row.memory_id))
        else:
            self.post_message(EditRequested(row.path, 1))

    def action_accept(self) -> None:
        """Leave and print what is picked: the pack, or links to the marked passages or the selected one.

        On a link, a branch of the map, a row of the start list or a corrected query, enter does the same as without
        picking.
        """
        assert self._pick is not None
        if self.start_list.has_focus:
            self._use_selected_start_row()
        elif self.side.has_focus_within and self.side.handle_enter():
            return
        elif self.target_hit is None and not self._pack.choices.marks:
            self._bar.set_query(self._bar.correction)
        elif self._pick.form is None:
            self._copy_pack(CopyTarget.STDOUT)
        else:
            self._ask_links(partial(self._copy_links, CopyTarget.STDOUT, self._pick.form))

    def action_cancel(self) -> None:
        """Leave without printing anything."""
        self.app.exit()

    def action_obsidian(self) -> None:
        """Open the note of the selected hit or of the side panel's passage in Obsidian."""
        hit = self.target_hit
        if hit is not None:
            fragment = hit.fragment
            self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, self._find_used_hit(hit)))

    def action_explain_first(self) -> None:
        """Select the best hit, which gives the answer its confidence, and show why it is the best."""
        if self.best_hits:
            self.hit_list.select_fragment(self.best_hits[0].fragment.id)
            if not (self.side.display and self.side.view == "why"):
                self.side.action_show_view("why")

    def action_copy_fragment(self) -> None:
        """Copy the lines picked in the preview, else the selected hit or the side panel's passage."""
        hit = self.target_hit
        lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
        if lines is not None and hit is not None:
            label = format_lines(lines.line_start, lines.line_end, "–").capitalize()
            used = self._find_used_hit(hit) if lines.path == hit.fragment.path else None
            self.post_message(CopyRequested(lines.text, label, None, () if used is None else (used,)))
        elif hit is not None:
            fragment, used = hit.fragment, self._find_used_hit(hit)
            used_hits = () if used is None else (used,)
            self.post_message(CopyRequested(fragment.text, "Passage", fragment.tokens, used_hits))

    def action_copy_link(self) -> None:
        """Open a dialog to choose the form of the link to the marked passages, or to the selected one, and copy it."""
        from excerpt.tui.search.link_dialog import LinkDialog

        def open_dialog(links: Mapping[LinkForm, Sequence[str]]) -> None:
            def copy(form: LinkForm | None) -> None:
                if form is not None:
                    self.link_form = form
                    self._copy_links(CopyTarget.CLIPBOARD, form, links)

            self.app.push_screen(LinkDialog(links, self.link_form), copy)

        self._ask_links(open_dialog)

    def _ask_links(self, on_answer: Callable[[Mapping[LinkForm, Sequence[str]]], object]) -> None:
        """Request the links to the picked lines, else to the marked passages, else to the selected one.

        A memory is linked by its source.
        """
        from excerpt.service.questions import AskLinks

        lines, hit = self.side.pop_picked_lines() if self.side.has_focus_within else None, self.target_hit
        marked = [mark.fragment_id for mark in self._pack.choices.marks]
        ids = marked or ([hit.fragment.id] if hit is not None else [])
        memories = {id_: self._memories.find_memory(id_) for id_ in ids}
        passages = [memory.source if memory is not None else id_ for id_, memory in memories.items()]
        question = AskLinks((lines,) if lines else tuple(each for each in passages if each), self._folders)

        def handle(links: Mapping[LinkForm, Sequence[str]]) -> None:
            if links:
                on_answer(links)
            else:
                self.notify("Nothing to link to: a memory without a source, or a passage that is gone.")

        self._engine.ask(question, handle)

    def _copy_links(self, target: CopyTarget, form: LinkForm, links: Mapping[LinkForm, Sequence[str]]) -> None:
        """Copy the links of one form. For programs, `path:line` has the path from the working directory."""
        rows = links.get(form, ())
        if target is CopyTarget.STDOUT and self._folders is not None and form in (LinkForm.LINES, LinkForm.PATH):
            rows = [path_for_shell(*self._folders.locate(row)) for row in rows]
        used = self.marked_hits()
        if not self._pack.choices.marks and (hit := self.target_hit) is not None:
            used = [each for each in [self._find_used_hit(hit)] if each is not None]
        copied = CopyRequested("\n".join(rows), format_count(len(rows), "link"), None, tuple(used), target=target)
        self.post_message(copied)

    def action_remember(self) -> None:
        """Store the focused passage as a memory: of the pack panel, the picked lines, the side panel or the list.

        If that passage is a memory already, open the memory in the form.
        """
        if self.pack_rows.has_focus and self.pack_rows.row_count:
            self._remember_packed_passage()
        elif (memory := self._target_memory) is not None:
            self.post_message(MemoryEditRequested(memory))
        else:
            from excerpt.base.model import Hit

            lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
            hit = Hit(lines, 0.0) if lines is not None else self.target_hit
            self.post_message(RememberRequested(hit, self._bar.text.strip()))

    def _remember_packed_passage(self) -> None:
        """Store the passage selected in the pack panel as a memory, with the context that the scope added.

        If the passage is a memory already, open that memory in the form.
        """
        from excerpt.base.model import Source

        row = self.pack_rows.selected_pack
        memory = self._memories.find_memory(row.path) if row is not None else None
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        elif row is not None:
            source = Source(row.path, row.line_start, row.line_end, row.digest, row.heading_path, row.place)
            self.post_message(RememberRequested(None, self._pack.query, row.text, source))

    def action_forget_uses(self) -> None:
        """Forget that the selected hit was opened, marked or copied for similar words, and search again."""
        hit = self.target_hit
        if hit is None or not hit.past_uses:
            self.notify("Nothing to forget: this hit was not opened, marked or copied for these words before.")
        else:
            self.forget_uses(hit)

    def forget_uses(self, hit: Hit) -> None:
        """Forget the past uses of a hit, and search again."""
        from excerpt.service.questions import AskForgetUses

        self._engine.ask(AskForgetUses(hit.past_uses), partial(self._handle_forgotten, hit))

    def _handle_forgotten(self, hit: Hit, problem: str) -> None:
        """Search again, and select the hit at its new rank; if forgetting failed, show a notice."""
        if problem:
            self.notify(f"Nothing was forgotten: {problem}.", severity="warning", markup=False)
        else:
            self.select_later(hit.fragment.id)
            self.notify("Forgotten. The list is ranked without these uses.")
            self._search()


def hit_disabled_reason(action: str, state: HitState) -> str:
    """Return why an action on a hit is disabled, as a sentence; "" if the action is enabled."""
    match action:
        case "mark_nearest":
            return "" if state.has_no_answer else "This works only for a query that no note answers."
        case "remember":
            return state.selection.not_in_pack_reason if state.is_in_panel and state.selection is not None else ""
        case _ if action not in HIT_ACTIONS:
            return ""
        case _ if state.is_on_name:
            return "" if action == "edit" else "The name of a note is selected, not a passage."
    applies_elsewhere = (
        (state.is_in_panel and action in ("mark", "edit"))
        or (action in ("edit", "accept") and (state.has_correction or state.is_on_start_row))
        or (action in ("copy_link", "accept") and state.has_marks)
    )
    is_on_memory = state.row_kind is SelectedRowKind.MEMORY
    reasons = {
        _row_absence_reason(has_query=state.has_query): (
            state.row_kind is SelectedRowKind.NOTHING and not applies_elsewhere
        ),
        NO_FILES: (action in ("edit", "obsidian") and not (state.has_files or applies_elsewhere or is_on_memory)),
        "A memory is not a note of the vault.": action == "obsidian" and is_on_memory,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _row_absence_reason(*, has_query: bool) -> str:
    return "This query has no hits." if has_query else "Nothing is listed yet: type a query first."
