"""A headless Neovim with the plugin, driven by keys from outside as by a user."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import excerpt

PLUGIN = Path(excerpt.__file__).parent / "editors" / "nvim"
PATIENCE = 180.0  # seconds

Seen = TypeVar("Seen")

_PRELUDE = """
vim.o.columns, vim.o.lines = 80, 24
_G.notices = {}
vim.notify = function(message) table.insert(_G.notices, message) end

-- Return the lines of the picker's windows: the prompt, the list above the preview.
function _G.picker()
  local floats = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      table.insert(floats, window)
    end
  end
  table.sort(floats, function(a, b)
    return vim.api.nvim_win_get_position(a)[1] < vim.api.nvim_win_get_position(b)[1]
  end)
  local lines = {}
  for index, name in ipairs({ "prompt", "list", "preview" }) do
    if floats[index] then
      lines[name] = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floats[index]), 0, -1, false)
    end
  end
  return next(lines) and lines or vim.empty_dict()
end

-- Return the lines that are highlighted as the passage.
function _G.passage()
  local namespace, lines = vim.api.nvim_create_namespace("excerpt"), {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })) do
      if not mark[4].hl_group and not mark[4].virt_text then -- 0.7 does not name the group of a whole line
        vim.list_extend(lines, vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false))
      end
    end
  end
  return lines
end
"""


class Neovim:
    """A running Neovim; `options` are those of `setup()`, in Lua."""

    def __init__(self, folder: Path, options: str, environment: Mapping[str, str], files: Sequence[Path] = ()) -> None:
        self._socket = folder / "nvim.sock"
        self._environment = {**environment, "XDG_STATE_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
        config = folder / "init.lua"
        runtime = json.dumps(str(PLUGIN))
        config.write_text(
            f'{_PRELUDE}\nvim.opt.runtimepath:prepend({runtime})\nrequire("excerpt").setup({{ {options} }})\n',
            encoding="utf-8",
        )
        argv = ["nvim", "--headless", "-u", str(config), "-i", "NONE", "-n", "--listen", str(self._socket)]
        self.process = subprocess.Popen(
            [*argv, "--", *map(str, files)],
            env=self._environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.wait(self._socket.exists, bool)

    def type(self, keys: str) -> None:
        """Type keys, written as in a mapping: `<CR>`, `<Tab>`."""
        self._ask_server("--remote-send", keys)

    def eval(self, lua: str) -> Any:
        """Return the value of a Lua expression."""
        quoted = lua.replace("'", "''")
        return json.loads(self._ask_server("--remote-expr", f"json_encode(luaeval('{quoted}'))"))

    def _ask_server(self, *arguments: str) -> str:
        command = ["nvim", "--server", str(self._socket), *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, timeout=PATIENCE, check=True)
        return (done.stdout or done.stderr).decode()  # 0.7 prints the value on stderr

    def wait(self, look: Callable[[], Seen], until: Callable[[Seen], object]) -> Seen:
        """Return what `look` returns as soon as `until` accepts it."""
        end = time.monotonic() + PATIENCE
        while not until(seen := look()):
            assert time.monotonic() < end, seen
            time.sleep(0.05)
        return seen

    # --- what the user sees -------------------------------------------------------------------------------------------

    def part(self, name: str) -> str:
        """Return the text of a part of the picker, "" if it is closed: prompt, list or preview."""
        return "\n".join(self.eval("picker()").get(name, []))

    def wait_for(self, name: str, text: str) -> str:
        """Return the text of a part of the picker as soon as it has `text`."""
        return self.wait(lambda: self.part(name), lambda shown: text in shown)

    def search(self, query: str, expected: str) -> str:
        """Open the picker with a query, and return the list as soon as it has the expected text."""
        self.type(f":Excerpt {query}<CR>")
        return self.wait_for("list", expected)

    def wait_for_notice(self, text: str) -> str:
        """Return the first message with this text."""
        notices = self.wait(lambda: self.eval("notices"), lambda shown: any(text in each for each in shown))
        return next(str(each) for each in notices if text in each)

    def buffer(self) -> str:
        """Return the text of the current buffer."""
        return "\n".join(self.eval("vim.api.nvim_buf_get_lines(0, 0, -1, false)"))

    def servers(self) -> list[int]:
        """Return the process ids of the servers that the plugin has started."""
        pids = self.eval("vim.api.nvim_get_proc_children(vim.fn.getpid())")
        return [int(pid) for pid in pids]

    def end(self) -> None:
        """Quit Neovim."""
        if self.process.poll() is None:
            command = ["nvim", "--server", str(self._socket), "--remote-send", "<C-\\><C-N>:qall!<CR>"]
            subprocess.run(command, env=self._environment, capture_output=True, timeout=PATIENCE, check=False)
            self.process.wait(PATIENCE)

    def clear(self) -> None:
        """Close the picker and all buffers, and forget messages and registers."""
        self.type("<C-\\><C-N><Esc>:tabonly! | only! | %bwipeout!<CR>")
        self.eval("vim.fn.setreg('\"', '')")
        self.eval("(function() _G.notices = {} end)()")


def is_running(pid: int) -> bool:
    """Return whether there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
