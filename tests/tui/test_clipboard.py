"""Tests of copying: which clipboard routes are tried in which environment, and the messages about them."""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from excerpt.tui.clipboard import (
    MAX_COPIES,
    OSC_LIMIT,
    OSC_ROUTE,
    ClipboardTool,
    CopyOutcome,
    CopyPlan,
    copy,
    copy_notice,
    file_notice,
    osc_sequence,
    plan_copy,
)
from tests.conftest import programs_finder

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


WEB_DRIVER = "textual.drivers.web_driver:WebDriver"


def route_names(chosen: CopyPlan) -> list[str]:
    return [tool.name for tool in chosen.tools]


@pytest.mark.parametrize(
    ("environment", "programs", "platform", "expected"),
    [
        ({}, ["pbcopy"], "darwin", ["pbcopy"]),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ["wl-copy", "xclip"], "linux", ["wl-copy"]),
        ({"DISPLAY": ":0"}, ["xclip", "xsel"], "linux", ["xclip"]),
        ({"DISPLAY": ":0"}, ["xsel"], "linux", ["xsel"]),
        ({"WSL_DISTRO_NAME": "Debian"}, ["clip.exe"], "linux", ["clip.exe"]),
        ({"TMUX": "/tmp/tmux,1,0"}, ["tmux"], "linux", ["tmux"]),
        ({"TMUX": "/tmp/tmux,1,0", "DISPLAY": ":0"}, ["tmux", "xclip"], "linux", ["xclip", "tmux"]),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "a b"}, ["xclip"], "linux", []),
        ({"DISPLAY": ":0", "TMUX": "/tmp/tmux,1,0", "TEXTUAL_DRIVER": WEB_DRIVER}, ["xclip", "tmux"], "linux", []),
        ({"DISPLAY": ":0", "TEXTUAL_DRIVER": ""}, ["xclip"], "linux", ["xclip"]),
        ({}, ["xclip", "wl-copy"], "linux", []),
    ],
)
def test_the_clipboard_tool_of_the_environment_is_chosen(
    environment: dict[str, str], programs: list[str], platform: str, expected: list[str]
) -> None:
    assert route_names(plan_copy(environment, programs_finder(*programs), platform, 10)) == expected


@pytest.mark.parametrize(("exit_code", "route"), [(0, "xclip"), (1, "the terminal")])
def test_the_terminal_is_used_only_without_a_working_tool(
    exit_code: int, route: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xclip").write_text(f"#!/bin/sh\ncat > /dev/null\nexit {exit_code}\n")
    (tmp_path / "xclip").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    chosen = plan_copy({"DISPLAY": ":99"}, programs_finder("xclip"), "linux", 10)
    assert copy("0123456789", chosen, tmp_path / "copies", NOW).routes == (route,)


def test_inside_tmux_without_its_program_the_sequence_is_sent_plain_and_wrapped() -> None:
    assert plan_copy({"TMUX": "x"}, programs_finder(), "linux", 10).osc == "tmux"
    plain = osc_sequence("hi", "plain")
    wrapped = osc_sequence("hi", "tmux").removeprefix(plain)
    assert wrapped.startswith("\x1bPtmux;\x1b\x1b]52;c;")
    assert wrapped.endswith("\x1b\\")


def test_a_text_too_long_for_the_terminal_is_not_sent() -> None:
    assert plan_copy({}, programs_finder(), "linux", OSC_LIMIT).osc == "plain"
    over = plan_copy({}, programs_finder(), "linux", OSC_LIMIT + 1)
    assert (over.osc, over.too_long) == ("", True)


def test_tmux_accepts_any_length_but_the_outer_terminal_may_not() -> None:
    over = plan_copy({"TMUX": "x"}, programs_finder("tmux"), "linux", OSC_LIMIT + 1)
    assert (route_names(over), over.too_long) == (["tmux"], True)
    source_sentence = copy_notice(CopyOutcome(("tmux",), None, OSC_LIMIT + 1, True), "Pack", None)
    assert source_sentence == "Pack: 74,995 bytes, copied by tmux, more than many terminals accept."


def test_an_unverifiable_copy_is_not_reported_as_copied() -> None:
    kept = Path("/elsewhere/copy.md")
    assert copy_notice(CopyOutcome((OSC_ROUTE,), kept, 10, False), "Pack", 2) == (
        "Pack: 2 tokens, copied (if your terminal allows it). Saved as /elsewhere/copy.md"
    )


def test_a_pack_written_to_a_file_is_reported_with_its_path_or_failure() -> None:
    assert file_notice(Path("/a/pack.xml"), 10, "Pack of 3", 2) == ("Pack of 3: 2 tokens, written to /a/pack.xml")
    assert file_notice(None, 10, "Pack of 3", 2) == "Pack of 3: 2 tokens. No file could be written."


def test_text_that_is_not_utf_8_is_copied_with_escapes(tmp_path: Path) -> None:
    copied = copy("caf\udce9", CopyPlan((), "", False), tmp_path, NOW, ".json")
    assert copied.file is not None
    assert copied.file.suffix == ".json"
    assert copied.file.read_bytes() == b"caf\\udce9"


def test_the_escape_sequence_for_copying_contains_the_text() -> None:
    body = osc_sequence("naïve 日本", "plain").removeprefix("\x1b]52;c;").removesuffix("\a")
    assert base64.b64decode(body).decode() == "naïve 日本"


@pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")
@pytest.mark.parametrize(
    ("environment", "platform", "route", "encoding", "arguments"),
    [
        ({}, "darwin", "pbcopy", "utf-8", ""),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", "wl-copy", "utf-8", ""),
        ({"DISPLAY": ":0"}, "linux", "xclip", "utf-8", "-selection clipboard"),
        ({"DISPLAY": ":0"}, "linux", "xsel", "utf-8", "--input --clipboard"),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", "clip.exe", "utf-16", ""),
        ({}, "win32", "clip.exe", "utf-16", ""),
        ({"PREFIX": "/data/data/com.termux/files/usr"}, "linux", "termux-clipboard-set", "utf-8", ""),
        ({"TMUX": "/tmp/tmux-0/default,1,0"}, "linux", "tmux", "utf-8", "load-buffer -w -"),
        (
            {"TMUX": "/tmp/x,1,0", "SSH_TTY": "/dev/pts/1", "DISPLAY": ":10"},
            "linux",
            "tmux",
            "utf-8",
            "load-buffer -w -",
        ),
    ],
)
def test_each_clipboard_tool_gets_every_byte_with_its_documented_arguments(
    *,
    environment: dict[str, str],
    platform: str,
    route: str,
    encoding: str,
    arguments: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "naïve 日本 👩\u200d💻\r\n" * 5_000
    tool = tmp_path / "bin" / route
    tool.parent.mkdir()
    # tmux is called twice: to load the text, and to query what the outer terminal supports.
    tool.write_text(
        f'#!/bin/sh\n[ "$1" = display-message ] && exit\necho "$@" > {tmp_path}/said\ncat > {tmp_path}/taken\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    chosen = plan_copy(environment, programs_finder(route), platform, len(text.encode()))
    copied = copy(text, chosen, tmp_path / "copies", NOW)
    assert copied.routes == (route,)
    assert (tmp_path / "taken").read_bytes().decode(encoding) == text
    assert (tmp_path / "said").read_text().strip() == arguments
    assert copied.file is not None
    assert copied.file.read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("environment", "size", "osc", "too_long"),
    [
        ({}, OSC_LIMIT, "plain", False),
        ({"SSH_CONNECTION": "a b"}, OSC_LIMIT, "plain", False),
        ({"SSH_CONNECTION": "a b"}, OSC_LIMIT + 1, "", True),
        ({"TMUX": "x"}, OSC_LIMIT, "tmux", False),
        ({"TMUX": "x"}, OSC_LIMIT + 1, "", True),
        ({"STY": "1.pts"}, OSC_LIMIT, "screen", False),
    ],
)
def test_without_a_tool_the_terminal_is_used_within_its_limit(
    environment: dict[str, str], size: int, osc: str, too_long: bool
) -> None:
    chosen = plan_copy(environment, programs_finder(), "linux", size)
    assert (chosen.tools, chosen.osc, chosen.too_long) == ((), osc, too_long)


def test_inside_gnu_screen_the_escape_sequence_is_sent_in_pieces() -> None:
    sent = osc_sequence("é" * 2_000, "screen")
    pieces = sent.split("\x1b\\")
    assert pieces.pop() == ""
    assert all(piece.startswith("\x1bP") and len(piece) <= 768 for piece in pieces)
    assert "".join(piece.removeprefix("\x1bP") for piece in pieces) == osc_sequence("é" * 2_000, "plain")


def test_a_tool_gets_the_text_and_a_file_saves_it(tmp_path: Path) -> None:
    tool = tmp_path / "clip"
    tool.write_text(f"#!/bin/sh\ncat > {tmp_path}/taken\n")
    tool.chmod(0o755)
    copied = copy("text ✓", CopyPlan((ClipboardTool("clip", (str(tool),)),), "", False), tmp_path / "copies", NOW)
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "text ✓"
    assert copied.routes == ("clip",)
    assert copied.file is not None
    assert copied.file.read_text(encoding="utf-8") == "text ✓"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_the_file_of_a_copied_text_is_readable_only_by_the_user(tmp_path: Path) -> None:
    copied = copy("secret", CopyPlan((), "", False), tmp_path / "copies", NOW)
    assert copied.file is not None
    assert copied.file.stat().st_mode & 0o077 == 0


def test_a_failing_tool_is_not_named_as_a_route(tmp_path: Path) -> None:
    chosen = CopyPlan(
        (ClipboardTool("false", ("false",)), ClipboardTool("missing", (str(tmp_path / "none"),))), "", False
    )
    assert copy("text", chosen, tmp_path / "copies", NOW).routes == ()


def test_only_the_newest_copies_are_kept(tmp_path: Path) -> None:
    for number in range(MAX_COPIES + 3):
        copy(str(number), CopyPlan((), "", False), tmp_path, NOW.replace(microsecond=number))
    files = sorted(tmp_path.glob("copy-*.md"))
    assert len(files) == MAX_COPIES
    assert files[0].read_text() == "3"


def test_the_notice_names_route_size_and_tokens() -> None:
    copied = CopyOutcome(("wl-copy",), None, 7412, False)
    assert copy_notice(copied, "Pack of 3", 1840) == "Pack of 3: 1,840 tokens, copied by wl-copy."


def test_a_copy_without_a_clipboard_names_its_file() -> None:
    kept = Path("/elsewhere/copy.md")
    assert copy_notice(CopyOutcome((), kept, 10, False), "Memory", None) == (
        "Memory: 10 bytes, no clipboard accepted it. Saved as /elsewhere/copy.md"
    )
    assert "too long for the terminal" in copy_notice(CopyOutcome((), kept, 10, True), "Pack", 1)


def test_an_unwritable_folder_does_not_stop_the_copy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    copied = copy("text", CopyPlan((), "plain", False), tmp_path / "file" / "copies", NOW)
    assert copied.file is None
    assert copied.routes == (OSC_ROUTE,)
