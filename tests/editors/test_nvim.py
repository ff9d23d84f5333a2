"""The plugin for Neovim: what a user of the picker sees and gets, in a headless Neovim.

Named after `editors/nvim`, which is written in Lua.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.editors.conftest import EXCERPT, HOSTILE, Shared, StartNeovim, environment, setup_options, write_notes
from tests.editors.nvim import PLUGIN, Neovim, is_running

pytestmark = [pytest.mark.programs, pytest.mark.needs("nvim")]

# --- the picker -------------------------------------------------------------------------------------------------------


def test_passages_are_found_while_the_question_is_typed(neovim: Neovim) -> None:
    neovim.type(":Excerpt<CR>")
    neovim.wait_for("list", "Type a question")
    neovim.type("green te")
    neovim.wait_for("list", "food/Tea › Tea › Green tea")
    neovim.type("<C-w><C-w>winter of bees")
    neovim.wait_for("list", "Bees › Bees › Winter")


def test_the_passage_is_highlighted_in_its_note(neovim: Neovim) -> None:
    neovim.search("cluster in winter", "Bees › Bees › Winter")
    neovim.wait_for("preview", "Bees live in a hive.")
    assert neovim.eval("passage()") == ["A bee colony winters as a cluster around its honey."]


def test_the_preview_follows_the_selection(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    neovim.wait_for("preview", "eighteen percent")
    neovim.type("<Down>")
    neovim.wait_for("preview", "Bees live in a hive.")
    neovim.type("<Up>")
    neovim.wait_for("preview", "eighteen percent")


def test_escape_closes_the_picker(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    neovim.type("<Esc>")
    neovim.wait(lambda: neovim.eval("picker()"), lambda parts: not parts)
    assert neovim.eval("vim.fn.mode()") == "n"


def test_f1_lists_the_keys_of_the_picker(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    neovim.type("<F1>")
    neovim.wait_for("list", "copy the pack")
    neovim.type("<F1>")
    neovim.wait_for("list", "food/Honey")


def test_a_question_mark_is_typed_into_a_question(neovim: Neovim) -> None:
    neovim.search("what is honey", "food/Honey")
    neovim.type("?")
    neovim.wait_for("prompt", "what is honey?")


def test_reopening_the_picker_restores_query_and_marks(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    neovim.type("<Tab><Esc>:Excerpt!<CR>")
    neovim.wait_for("list", "● food/Honey")
    assert "honey" in neovim.part("prompt")


def test_the_word_under_the_cursor_is_searched(neovim: Neovim) -> None:
    neovim.type("iabout steeped leaves<Esc>^w:Excerpt <lt>cword><CR>")
    neovim.wait_for("prompt", "> steeped")
    neovim.wait_for("list", "food/Tea")


def test_the_selected_text_is_searched(neovim: Neovim) -> None:
    neovim.type("iHow about green tea?<Esc>^wwve<Right>e:Excerpt<CR>")
    neovim.wait_for("list", "food/Tea")
    assert neovim.part("prompt") == "> green tea"


def test_the_windows_adapt_to_the_size_of_the_screen(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    for columns, lines in ((140, 45), (30, 8), (80, 24)):
        neovim.eval(f"vim.cmd('set columns={columns} lines={lines} | doautocmd VimResized')")
        widths = neovim.eval("vim.tbl_map(vim.api.nvim_win_get_width, vim.api.nvim_list_wins())")
        assert all(1 <= width <= columns for width in widths)
    assert "Honey" in neovim.part("list")


# --- what is done with passages ---------------------------------------------------------------------------------------


def test_a_note_is_opened_at_the_line(neovim: Neovim, shared: Shared) -> None:
    neovim.search("cluster in winter", "Winter")
    neovim.type("<CR>")
    neovim.wait(lambda: neovim.eval("vim.api.nvim_buf_get_name(0)"), lambda name: name == str(shared.vault / "Bees.md"))
    assert neovim.eval("vim.api.nvim_get_current_line()") == "A bee colony winters as a cluster around its honey."


@pytest.mark.parametrize(("key", "layout"), [("<C-x>", "col"), ("<C-v>", "row")])
def test_a_note_is_opened_in_a_split(neovim: Neovim, key: str, layout: str) -> None:
    neovim.search("eighteen percent", "food/Honey")
    neovim.type(key)
    neovim.wait(lambda: neovim.eval("vim.fn.winlayout()")[0], lambda shown: shown == layout)
    neovim.wait(neovim.buffer, lambda text: "eighteen percent" in text)


def test_a_note_is_opened_in_a_tab(neovim: Neovim) -> None:
    neovim.search("eighteen percent", "food/Honey")
    neovim.type("<C-t>")
    neovim.wait(lambda: neovim.eval("vim.fn.tabpagenr('$')"), lambda count: count == 2)


def test_the_pack_of_the_marked_passages_is_copied(neovim: Neovim) -> None:
    neovim.search("honey", "food/Honey")
    neovim.type("<Tab>")
    neovim.wait_for("list", "● food/Honey")
    neovim.type("<C-w>green tea")
    neovim.wait_for("list", "food/Tea")
    neovim.type("<Tab><C-y>")
    assert "copied 2 passages" in neovim.wait_for_notice("copied")
    pack = neovim.eval("vim.fn.getreg('\"')")
    assert "eighteen percent" in pack
    assert "eighty degrees" in pack
    assert "cluster" not in pack


def test_a_pack_without_marks_has_the_best_passages(neovim: Neovim) -> None:
    neovim.type(":ExcerptPack how is green tea steeped<CR>")
    neovim.wait_for_notice("copied")
    assert "eighty degrees" in neovim.eval("vim.fn.getreg('\"')")


def test_an_empty_pack_is_not_copied(neovim: Neovim) -> None:
    neovim.type(":ExcerptPack quarterly revenue of submarines<CR>")
    neovim.wait_for_notice("nothing in the vault answers this")
    assert neovim.eval("vim.fn.getreg('\"')") == ""


def test_the_pack_is_shown_in_a_buffer(neovim: Neovim) -> None:
    neovim.search("how is green tea steeped", "food/Tea")
    neovim.type("<C-o>")
    neovim.wait(neovim.buffer, lambda text: "eighty degrees" in text)
    assert neovim.eval("vim.bo.buftype") == "nofile"


def test_a_link_is_inserted_at_the_cursor(neovim: Neovim) -> None:
    neovim.type("iSee here<Esc>")
    neovim.search("cluster in winter", "Winter")
    neovim.type("<C-l>")
    neovim.wait(neovim.buffer, lambda text: text == "See here[[Bees#Winter]]")


def test_a_link_to_an_ambiguous_note_name_has_the_folder(neovim: Neovim) -> None:
    neovim.search("oolong in a clay pot", "shop/Tea")
    neovim.type("<C-l>")
    neovim.wait(neovim.buffer, lambda text: text == "[[shop/Tea#Tea]]")


# --- the server -------------------------------------------------------------------------------------------------------


def test_a_changed_note_changes_the_list(start_neovim: StartNeovim, tmp_path: Path) -> None:
    vault = write_notes(tmp_path / "notes")
    neovim = start_neovim(setup_options(vault))
    neovim.search("royal jelly feeds bees", "Bees")
    (vault / "Jelly.md").write_text("# Jelly\n\nRoyal jelly feeds the queen.\n", encoding="utf-8")
    neovim.wait_for("list", "Jelly")
    neovim.type("<Up>")
    neovim.wait_for("preview", "feeds the queen")


def test_a_replaced_note_says_what_replaces_it(start_neovim: StartNeovim, tmp_path: Path) -> None:
    vault = tmp_path / "prices"
    vault.mkdir()
    (vault / "Now.md").write_text("# Now\n\nThe storage plan costs six euros.\n", encoding="utf-8")
    (vault / "Then.md").write_text(
        '---\nsuperseded_by: "[[Now]]"\nsuperseded_on: 2026-03-01\n---\n# Then\n\nThe storage plan costs four euros.\n',
        encoding="utf-8",
    )
    neovim = start_neovim(setup_options(vault))
    neovim.search("storage plan", "replaced on 2026-03-01 by Now.md")


def test_a_vault_without_an_index_is_indexed_by_the_picker(start_neovim: StartNeovim, tmp_path: Path) -> None:
    start_neovim(setup_options(write_notes(tmp_path / "notes"))).search("green tea", "food/Tea")


def test_a_killed_server_is_started_again(start_neovim: StartNeovim, shared: Shared) -> None:
    neovim = start_neovim(setup_options(shared.vault))
    neovim.search("honey", "food/Honey")
    neovim.wait_for("preview", "eighteen percent")
    (server,) = neovim.servers()
    os.kill(server, signal.SIGKILL)
    neovim.wait_for_notice("the server ended, the next query starts it again")
    neovim.type("<C-w>green tea")
    neovim.wait_for("list", "food/Tea")


def test_the_server_ends_with_neovim(start_neovim: StartNeovim, shared: Shared) -> None:
    neovim = start_neovim(setup_options(shared.vault))
    neovim.search("honey", "food/Honey")
    (server,) = neovim.servers()
    neovim.end()
    neovim.wait(lambda: is_running(server), lambda running: not running)


def test_if_the_command_excerpt_is_missing_the_message_names_it(start_neovim: StartNeovim) -> None:
    neovim = start_neovim('cmd = { "no-such-excerpt" }')
    neovim.search("honey", "Cannot run no-such-excerpt. Install excerpt")


def test_the_message_about_a_missing_vault_names_its_folder(start_neovim: StartNeovim, tmp_path: Path) -> None:
    neovim = start_neovim(setup_options(tmp_path / "nowhere"))
    neovim.search("honey", "nowhere")


def test_a_message_wider_than_the_list_is_wrapped(neovim: Neovim, start_neovim: StartNeovim) -> None:
    wrapping = "#vim.tbl_filter(function(id) return vim.wo[id].wrap end, vim.api.nvim_list_wins())"
    neovim.search("honey", "food/Honey")
    failing = start_neovim('cmd = { "no-such-excerpt" }')
    failing.search("honey", "Cannot run no-such-excerpt. Install excerpt")
    assert failing.eval(wrapping) == neovim.eval(wrapping) + 1


def test_an_unknown_option_is_refused(neovim: Neovim) -> None:
    problem = neovim.eval('select(2, pcall(require("excerpt").setup, { vualt = "x" }))')
    assert problem == "excerpt: there is no option vualt"


# --- memories ---------------------------------------------------------------------------------------------------------


def test_a_selection_in_a_note_of_the_vault_is_remembered_with_its_lines(
    start_neovim: StartNeovim, shared: Shared
) -> None:
    neovim = start_neovim(setup_options(shared.vault), [shared.vault / "Bees.md"])
    neovim.search("cluster in winter", "Winter")
    neovim.type("<Esc>:3<CR>V:ExcerptRemember<CR>")
    assert "Bees.md:3-3" in neovim.wait_for_notice("remembered")


def test_a_text_given_to_the_remember_command_is_saved_as_a_memory(neovim: Neovim) -> None:
    neovim.type(":ExcerptRemember Honey is the best fuel.<CR>")
    neovim.wait_for_notice("remembered")


# --- text of the vault ------------------------------------------------------------------------------------------------


def test_hostile_names_and_text_are_shown_as_text(neovim: Neovim, shared: Shared) -> None:
    shown = neovim.search("walrus", "The walrus")
    preview = neovim.wait_for("preview", "dives")
    assert neovim.eval("vim.tbl_map(function(b) return vim.bo[b].tabstop end, vim.api.nvim_list_bufs())") == [8] * 4
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown + preview)
    neovim.type("<CR>")
    hostile = str(shared.vault / HOSTILE)
    neovim.wait(lambda: neovim.eval("vim.api.nvim_buf_get_name(0)"), lambda name: name == hostile)
    neovim.type(":redraw!<CR>")
    assert neovim.eval("vim.fn.glob('[abc]')") == ""  # a program in the name would have made one of them


# --- the plugin's files -----------------------------------------------------------------------------------------------


def test_the_printed_lines_are_a_valid_configuration(neovim: Neovim, tmp_path: Path) -> None:
    vault = tmp_path / 'my "notes", all\\of them'
    vault.mkdir()
    printed = subprocess.run(
        [*EXCERPT, "editor", "nvim", "--vault", str(vault)],
        env=environment(tmp_path / "home"),
        check=True,
        capture_output=True,
    )
    (tmp_path / "init.lua").write_bytes(printed.stdout)
    argv = ["nvim", "--headless", "-u", "init.lua", "-i", "NONE"]
    show = "+lua io.stdout:write(require('excerpt.server').command()[#require('excerpt.server').command()])"
    shown = subprocess.run([*argv, show, "+qall!"], cwd=tmp_path, check=True, capture_output=True, timeout=180)
    assert shown.stdout.decode() == str(vault)
    mapped = subprocess.run(
        [*argv, "+verbose map <leader>n", "+qall!"], cwd=tmp_path, check=True, capture_output=True, timeout=180
    )
    assert b"Excerpt" in mapped.stderr


def test_the_health_check_names_vault_and_notes(neovim: Neovim, shared: Shared) -> None:
    neovim.type(":checkhealth excerpt<CR>")
    report = neovim.wait(neovim.buffer, lambda text: "clipboard" in text)
    assert f"vault {shared.vault}: 5 notes" in report


def test_every_function_of_neovim_that_is_called_exists(neovim: Neovim) -> None:
    """Debian's Neovim is the oldest that the plugin is for."""
    source = "\n".join(path.read_text(encoding="utf-8") for path in PLUGIN.rglob("*.lua"))
    code = re.sub("--.*", "", source)
    names = sorted(set(re.findall(r"\bvim(?:\.[a-z_]\w*)+(?=\()", code)))
    functions = sorted(set(re.findall(r"\bvim\.fn\.(\w+)", code)))
    assert "vim.api.nvim_open_win" in names
    types = neovim.eval(f"{{ {', '.join(f'type({name})' for name in names)} }}")
    assert [name for name, kind in zip(names, types, strict=True) if kind == "nil"] == []
    found = neovim.eval(f"{{ {', '.join(f'vim.fn.exists([[*{name}]])' for name in functions)} }}")
    assert [name for name, exists in zip(functions, found, strict=True) if not exists] == []


def test_every_command_and_key_is_in_the_help(neovim: Neovim) -> None:
    manual = (PLUGIN / "doc" / "excerpt.txt").read_text(encoding="utf-8")
    for command in neovim.eval("vim.tbl_keys(vim.api.nvim_get_commands({}))"):
        assert not command.startswith("Excerpt") or f"*:{command}*" in manual
    for name, keys in neovim.eval('require("excerpt.config").defaults.keys').items():
        for key in [keys] if isinstance(keys, str) else keys:
            assert re.search(rf"{re.escape(key)}.*\b{name}\b", manual), (name, key)


def test_the_help_tags_are_current(neovim: Neovim, tmp_path: Path) -> None:
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "excerpt.txt").write_bytes((PLUGIN / "doc" / "excerpt.txt").read_bytes())
    neovim.eval(f"vim.cmd('helptags {tmp_path}/doc')")
    assert (PLUGIN / "doc" / "tags").read_text() == (tmp_path / "doc" / "tags").read_text()
