"""`excerpt editor`: print what an editor needs to use excerpt."""

from __future__ import annotations

import re
from pathlib import Path

import click

import excerpt
from excerpt.base.processes import excerpt_command, find_program
from excerpt.cli.printing import escape_for_stdout, print_line, print_message
from excerpt.cli.vaults import VaultParameter, resolve_vault

_EDITORS = ("nvim",)


@click.command()
@click.argument("editor", type=click.Choice(_EDITORS))
@click.option("--vault", type=VaultParameter(), help="Search this vault, instead of the one opened last.")
@click.option("--path", is_flag=True, help="Print the folder of the plugin, for a plugin manager.")
def editor_command(editor: str, vault: Path | None, path: bool) -> None:
    """Print the lines of configuration with which an editor uses excerpt.

    The plugin for Neovim is part of excerpt. The lines name its folder and this command.
    """
    folder = Path(excerpt.__file__).parent / "editors" / editor
    if path:
        print_line(escape_for_stdout(str(folder)))  # nothing else, for scripts
        return
    program = find_program("excerpt")
    command = [program] if program else excerpt_command()
    options = [f"cmd = {{ {', '.join(map(_quote_for_lua, command))} }}"]
    if vault is not None:
        options.append(f"vault = {_quote_for_lua(str(resolve_vault(vault)))}")
    print_message("Add these lines to init.lua, below those of a plugin manager. In Neovim, :help excerpt says more.")
    entry = folder.as_posix().replace(",", "\\,")  # a comma separates entries of the option
    print_line(f"vim.opt.runtimepath:append({_quote_for_lua(entry)})")
    print_line(f'require("excerpt").setup({{ {", ".join(options)} }})')
    print_line('vim.keymap.set("n", "<leader>n", "<Cmd>Excerpt<CR>", { desc = "Search my notes" })')
    print_line('vim.keymap.set("x", "<leader>n", ":Excerpt<CR>", { desc = "Search my notes for the selection" })')


def _quote_for_lua(text: str) -> str:
    """Return a text as a string of Lua on one line: control characters, quotes and backslashes by their codes."""
    return '"' + re.sub(r'[\x00-\x1f\x7f"\\]', lambda match: f"\\{ord(match[0]):03}", text) + '"'
