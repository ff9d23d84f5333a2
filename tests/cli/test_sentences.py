"""Test that what the command line says is what sentences.txt has: errors, hints and notices, command by command.

Named after its golden file, which is of all commands.
To rewrite it: EXCERPT_WRITE_GOLDEN=1 pytest tests/cli/test_sentences.py
"""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from excerpt.base.settings import user_paths
from excerpt.cli import app
from excerpt.index import build as building
from excerpt.index.writer import LOCK_FILE
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks, write_marks
from excerpt.search.saved_queries import change_saved
from excerpt.search.usage import UsedHit, UseKind, UseLog
from excerpt.vault.known_vaults import add_recent_vault
from tests.cli.conftest import Excerpt
from tests.cli.test_index import ReadOnlyLock
from tests.golden import read_golden
from tests.index.conftest import full_disk
from tests.sentences import Stage, as_text, stage

GOLDEN = Path(__file__).with_name("sentences.txt")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the reasons of the system are those of Linux")


def put_on_stdin(stage: Stage, data: bytes) -> None:
    stage.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def fail_with(error: Exception) -> Callable[..., None]:
    """Return a function that raises `error`, whatever its arguments."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


# --- the program ------------------------------------------------------------------------------------------------------


def wrong_words(stage: Stage) -> None:
    stage.say("serach", "words", vault=False)
    stage.say("search", "-rust and go", vault=False)
    stage.say("search", "x", "--limt", "3", vault=False)
    stage.say("search", "x", "--limit", "0")
    stage.say("search", "x", "--strategy", "best")
    stage.say("{vault}", "{vault}", vault=False)
    stage.say("search", "sync", "{vault}")
    stage.say("pack", "sync", "{vault}")
    stage.say("pack", "{vault}", "sync")
    stage.say("map", "sync", "{vault}", vault=False)
    stage.say("index", "{vault}", "{tmp}", vault=False)


def a_vault_that_cannot_be_opened(stage: Stage) -> None:
    stage.say(vault=False)
    stage.say("{vault}", vault=False)
    stage.say("{tmp}/nowhere", vault=False)
    stage.say("search", "x", "--vault", "{tmp}/nowhere", vault=False)
    stage.say("search", "x", "--vault", "{vault}/Sync.md", vault=False)
    stage.say("search", "x", "--vault", "", vault=False)
    stage.patch.setenv("EXCERPT_VAULT", " ")
    stage.say("search", "x", vault=False)


def a_home_folder_as_a_vault(stage: Stage) -> None:
    stage.patch.setenv("HOME", str(stage.vault))
    stage.say("search", "x")


def folders_of_excerpt_that_cannot_be(stage: Stage) -> None:
    stage.patch.setenv("EXCERPT_HOME", str(stage.vault / "of ours"))
    stage.say("search", "x")
    stage.patch.setenv("EXCERPT_HOME", "~nobody-of-that-name/x")
    stage.say("search", "x")


def a_bug_of_excerpt(stage: Stage) -> None:
    stage.patch.setattr(app, "start_app", fail_with(RuntimeError("boom")))
    stage.say("{vault}", vault=False)
    shutil.rmtree(stage.home)
    stage.home.write_text("a file where the folder should be")
    stage.say("{vault}", vault=False)


def too_little_memory(stage: Stage) -> None:
    stage.patch.setattr("excerpt.service.api.Vault.search", fail_with(MemoryError()))
    stage.say("search", "x")


def streams_that_cannot_be_used(stage: Stage) -> None:
    with stage.patch.context() as patch:
        patch.setattr(sys, "stdout", None)
        stage.say("search", "sync")
        sys.stdout.close()
    with stage.patch.context() as patch, Path("/dev/full").open("w") as full:
        patch.setattr(sys, "stdout", full)
        stage.say("search", "sync")
        sys.stdout.close()
    for words in (
        ("remember", "-"),
        ("search", "--batch", "-", "--json"),
        ("check", "-", "--pack", "{vault}/Sync.md"),
    ):
        with stage.patch.context() as patch:
            patch.setattr(sys, "stdin", None)
            stage.say(*words)
            sys.stdin.close()


def files_without_an_end(stage: Stage) -> None:
    stage.say("pack", "sync", "--template", "/dev/zero")
    stage.say("search", "--json", "--batch", "/dev/zero")
    stage.say("check", "/dev/zero", "--pack", "/dev/zero")
    stage.say("mcp", "{vault}", "--http", "--token-file", "/dev/zero", vault=False)
    stage.say("search", "sync", "--vault", "/dev/zero", vault=False)
    (stage.home / "config").mkdir()
    (stage.home / "config" / "excerpt.toml").symlink_to("/dev/zero")
    stage.say("config", "--check", vault=False)


# --- finding ----------------------------------------------------------------------------------------------------------


def search(stage: Stage) -> None:
    stage.say("search", "sync", "--no-refresh")
    stage.say("search", "sync conflict")
    stage.say("search", "sync tga:x")
    stage.say("search", "lattice devices and cumin")
    stage.say("search", "tag:howto")
    stage.say("search", '"zzqqxx"')
    stage.say("search", "zzqqxx", "--strategy", "adaptive")
    stage.say("search")
    stage.say("search", "lentil", "--vault", "{vault}", "--vault", "{tmp}/nowhere", vault=False)
    stage.say("search", "lentil", "--vault", "{vault}", "--vault", "tiny://wiki", vault=False)
    stage.write("other/Soup.md", "A soup of lentils.\n")
    stage.say("search", "lentil", "--vault", "{vault}", "--vault", "{tmp}/other", vault=False)
    (stage.tmp / "empty").mkdir()
    stage.say("search", "anything", "--vault", "{tmp}/empty", vault=False)


def search_why(stage: Stage) -> None:
    stage.say("search", '"sync conflict"', "--why", "Colour", out=True)
    stage.say("search", "sync", "--why", "Color", out=True)
    stage.say("search", "sync conflict devices change", "--why", "Lentil soup", out=True)
    answer = stage.call("search", "sync conflict devices banana", "--why", "Colour")
    without_tables = (line for line in answer.out.split("\n") if "  " not in line.strip())
    stage.record("excerpt search 'sync conflict devices banana' --why Colour", "\n".join(without_tables))


def search_batch(stage: Stage) -> None:
    stage.write("batch.jsonl", '{"id": 1, "query": "sync"}\nnonsense\n')
    stage.say("search", "--batch", "{tmp}/batch.jsonl", "--json")
    stage.say("search", "--batch", "{tmp}/none.jsonl", "--json")
    stage.say("search", "--batch", "{tmp}/batch.jsonl")
    stage.say("search", "words", "--batch", "{tmp}/batch.jsonl", "--json")
    stage.say("search", "--batch", "{tmp}/batch.jsonl", "--json", "--explain")
    put_on_stdin(stage, b'{"id": 1, "query": "caf\xe9"}\n')
    stage.say("search", "--batch", "-", "--json")


def embedding(stage: Stage) -> None:
    stage.say("embedding", "--run")
    stage.say("embedding", "--run", "--try", "~/model")
    stage.say("embedding", "--try", "minishlab/potion-base-8M")
    stage.say("embedding", "--try", "openai:https://192.0.2.7/v1#letters")
    stage.say("embedding", "--try", "plugin:none")
    stage.write("home/config/excerpt.toml", '[embedding]\nmodel = "openai:http://127.0.0.1:9/v1?key=k#letters"\n')
    stage.say("index")
    stage.say("embedding", "--run")
    stage.say("search", "sync")
    stage.write("home/config/excerpt.toml", '[embedding]\nmodel = "openai:https://a.test/v1#letters"\nremote = true\n')
    stage.say("status", out=True)


def an_index_that_is_damaged(stage: Stage) -> None:
    stage.call("index")
    postings = next(user_paths().index_folder(stage.vault).glob("words/*.pst"))
    postings.write_bytes(postings.read_bytes() + b"more")
    stage.say("search", "sync", "--no-refresh")
    stage.say("search", "sync")
    (user_paths().index_folder(stage.vault) / "catalog.sqlite").write_bytes(b"no database")
    stage.say("search", "sync")


def an_index_that_is_written_elsewhere(stage: Stage) -> None:
    stage.call("index")
    with FileLock(user_paths().index_folder(stage.vault) / LOCK_FILE):
        stage.say("search", "sync")
        stage.patch.setattr(building, "file_lock", ReadOnlyLock)
    stage.write("vault/New.md", "New.\n")
    stage.say("search", "sync")
    shutil.rmtree(stage.home)
    stage.say("search", "sync")


def an_index_on_a_full_disk(stage: Stage) -> None:
    stage.call("index")
    stage.write("vault/New.md", "# New\n\nA sync conflict that the index does not know.\n")
    with full_disk():
        stage.say("search", "sync")


def an_index_in_the_place_of_which_is_a_file(stage: Stage) -> None:
    stage.write("home/cache/index", "in the way")
    stage.say("search", "sync")


def a_vault_that_lost_all_notes(stage: Stage) -> None:
    stage.call("index")
    shutil.rmtree(stage.vault)
    stage.vault.mkdir()
    stage.say("search", "lentils")
    stage.say("index")


def overview(stage: Stage) -> None:
    stage.say("overview", "sync")
    stage.say("overview", "zxqvb wkkjr")
    stage.say("overview")


def related(stage: Stage) -> None:
    stage.write("vault/Meeting.md", "Two devices that meet have no conflict: see [[Sync]].\n")
    stage.say("related", "Sync")
    stage.say("related", "Snyc")
    stage.write("vault/Empty.md", "")
    stage.say("related", "Empty")


def maps(stage: Stage) -> None:
    stage.say("map")
    stage.say("map", '"no such phrase"')


def read_and_peek(stage: Stage) -> None:
    stage.say("read", "Sync#Conflicts")
    for command in ("read", "peek"):
        stage.say(command, "Color")
        stage.say(command, "")
    stage.say("read", "Sync#Conflict")
    stage.say("read", "Sync:90")


# --- packing ----------------------------------------------------------------------------------------------------------


def pack(stage: Stage) -> None:
    stage.say("pack", "sync conflict")
    stage.say("pack")
    stage.say("pack", '"zzqqxx"')
    stage.say("pack", "lattice devices and cumin")
    stage.say("pack", "lentils", "--budget", "20", "--expand", "none")
    stage.say("pack", "--id", "000000000000")
    stage.say("pack", "sync", "--tokenizer", "o100k")
    stage.say("pack", "--from-marks")
    found = stage.call("search", "banana", "--json").json["hits"]
    first, *_ = (hit["fragment_id"] for hit in found)
    other = stage.call("search", "lentils", "--json").json["hits"][0]["fragment_id"]
    marks = (MarkedFragment(first, "Colour.md"), MarkedFragment(other, ""))
    write_marks(
        user_paths().marks_file(stage.vault), SavedMarks("ripe?", marks, PackOverrides(dropped_ids=frozenset({other})))
    )
    stage.say("pack", "--from-marks")


def pack_formats(stage: Stage) -> None:
    stage.say("pack", "sync", "--format", "xml", "--json")
    stage.say("pack", "sync", "--format", "xml", "--template", "x.j2")
    stage.say("pack", "sync", "--format", "template")
    stage.say("pack", "sync", "--template", "{tmp}/missing.j2")
    stage.write("own.j2", "one\n{{ sorces }}\n")
    stage.say("pack", "sync", "--template", "{tmp}/own.j2")


def pack_into_a_file(stage: Stage) -> None:
    stage.say("pack", "sync", "-o", "{tmp}/prompt.md")
    stage.say("pack", "sync", "-o", "{vault}/prompt.md")
    stage.say("pack", "sync", "-o", "{tmp}/missing/prompt.md")
    stage.say("pack", "sync", "-o", "{tmp}")


def check(stage: Stage) -> None:
    stage.write("vault/Keys.md", "You must not delete the key.\n")
    stage.call("pack", "sync conflict", "delete key", "--fill", "enough", "--expand", "none", "-o", "{tmp}/pack.md")
    stage.write(
        "answer.md",
        'It says "a sync conflict arises when three devices change one note" [1].\n\n'
        'It says "simmer red lentils with cumin" [1].\n\n'
        'It says "the moon settles all of it" [9].\n\n'
        "It says “You must […] delete the key.” [2]\n\n"
        "Devices meet on Mondays [1]. Nothing backs this up.\n\n"
        'It says "two devices change it [1].\n',
    )
    stage.say("check", "{tmp}/answer.md", "--pack", "{tmp}/pack.md", "--uncited", out=True)
    note = stage.vault / "Sync.md"
    note.write_text(note.read_text().replace("two devices", "some devices"))
    (stage.vault / "Keys.md").rename(stage.vault / "Old keys.md")
    stage.write("answer.md", "So it is [1].\n\nSo it is [2].\n")
    stage.say("check", "{tmp}/answer.md", "--pack", "{tmp}/pack.md", out=True)
    stage.say("check", "-", "--pack", "-")
    stage.say("check", "{tmp}/none.md", "--pack", "{tmp}/pack.md")
    stage.write("no pack", "no pack")
    stage.say("check", "{tmp}/answer.md", "--pack", "{tmp}/no pack")


# --- memories ---------------------------------------------------------------------------------------------------------


def remember(stage: Stage) -> None:
    stage.say("remember", "The release ships on the 12th of March", out=True)
    stage.say("remember", "On the 12th of March the release ships", out=True)
    stage.say("remember")
    stage.say("remember", " ")
    stage.say("remember", "--fragment", "a", "--source", "b")
    stage.say("remember", "--fragment", "nosuch")
    stage.say("remember", "--source", "Nowhere:3")
    stage.say("remember", "--source", "Colour:7-9")
    stage.say("remember", "text", "--merge", "mnone")
    stage.say("remember", "text", "--merge", "a", "--replace", "b")
    old = stage.call("remember", "Storage costs 4 euros", "--json").json["id"]
    stage.say("recall", "--replaced")
    stage.say("remember", "Bread on Friday", "--replace", old, out=True)


def recall(stage: Stage) -> None:
    stage.say("recall")
    stage.call("remember", "Sync keeps versions for 12 months")
    stage.say("recall", "anything")
    stage.say("recall", "which", "python", "versions", "run")
    stage.say("recall", "sync", "soruce:Colour")
    stage.say("recall", "--since", "soon")
    stage.say("recall", "--stale")
    stage.call("remember", "--source", "Colour:1")
    stage.write("vault/Colour.md", "The colour of an apple tells how ripe it is.\n")
    stage.say("recall", "--stale", out=True)


def memories_whose_files_are_odd(stage: Stage) -> None:
    stage.call("remember", "Lentils keep well.")
    memory = stage.call("recall", "--json").json["memories"][0]["id"]
    (file,) = (stage.home / "data" / "memories").rglob("*.md")
    file.with_name("copy.md").write_bytes(file.read_bytes())
    stage.say("recall")
    stage.say("forget", memory)
    stage.call("forget", "--undo", memory)
    stage.say("forget", memory)
    file.with_name("broken.md").write_bytes(b"---\nid: [\n---\n\x00\xff")
    file.with_name("link.md").symlink_to("/dev/null")
    stage.say("recall")


def edit_and_forget(stage: Stage) -> None:
    memory = stage.call("remember", "old", "--json").json["id"]
    stage.say("edit", memory)
    stage.say("edit", memory, "--text", " ")
    stage.say("edit", memory, "--merge", memory)
    stage.say("edit", memory, "--merge", "mnone")
    stage.say("forget", "mnone")
    stage.say("forget", memory, out=True)
    stage.say("forget", "--undo", memory, out=True)
    stage.say("forget", "--undo", memory)


# --- the gold set and news --------------------------------------------------------------------------------------------


def gold(stage: Stage) -> None:
    stage.say("gold", "list")
    stage.say("gold", "run")
    stage.say("gold", "add", " ", "Sync")
    stage.say("gold", "add", "two devices change one note", "Nowhere")
    stage.say("gold", "add", "two devices change one note", "Sync#Conflicts", "Colour", out=True)
    stage.say("gold", "run", out=True)
    stage.write("vault/Two devices change one note.md", "Two devices change one note.\n")
    (stage.vault / "Colour.md").unlink()
    stage.call("gold", "add", "lentils", "Lentil soup")
    said = stage.call("gold", "run")
    stage.record("excerpt gold run", re.sub(r"last run, .*", "last run, {time}", said.out) + said.err, said.code)
    stage.say("gold", "run", "--set", "search.boosts.links=false")
    stage.say("gold", "run", "--set", "pack.budget=1")
    stage.say("gold", "run", "--set", "search")
    stage.say("gold", "remove", "lentils", "Sync")
    stage.say("gold", "remove", "lentils", out=True)
    stage.say("gold", "remove", "lentils")
    lines = ("none", '{"query": "a", "relevant": []}', '{"query": "a", "relevant": [{"path": "Sync.md"}]}')
    stage.write("gold.jsonl", "\n".join(lines))
    stage.say("gold", "import", "{tmp}/gold.jsonl", out=True)
    (file,) = (stage.home / "data" / "gold").glob("*.jsonl")
    file.write_text("none\n", encoding="utf-8")
    stage.say("gold", "export")


def news(stage: Stage) -> None:
    stage.say("news")
    file = user_paths().saved_queries_file(stage.vault)
    change_saved(file, lambda saved: saved.with_query("sync", "sync"))
    stage.say("news", out=True)
    stage.write("vault/Sync again.md", "Sync again.\n")
    said = stage.call("news", "--seen")
    stage.record("excerpt news --seen", re.sub(r"since .*", "since {time}", said.out), said.code)
    file.write_text("{", encoding="utf-8")
    stage.say("news")


# --- the index and the settings ---------------------------------------------------------------------------------------


def learned(stage: Stage) -> None:
    stage.say("learned")
    log = UseLog(user_paths().use_file(stage.vault))
    log.record(UseKind.OPENED, [UsedHit("conflict", "Sync.md", "", 1)], time.time())
    stage.say("learned")
    stage.say("learned", "bread")
    stage.say("learned", "--clear")
    stage.say("learned", "--all")
    stage.say("learned", "bread", "--clear", out=True)
    stage.say("learned", "--clear", "--all", out=True)
    log.file.unlink(missing_ok=True)
    log.file.mkdir(parents=True)
    stage.say("learned", "--clear", "--all")


def index_and_status(stage: Stage) -> None:
    stage.write("vault/Zeros.md", bytes(10_000))
    stage.write("vault/Bad.md", "---\ntags: [a\n---\nNothing.\n")
    (stage.vault / "out.md").symlink_to("/nowhere")
    stage.say("index", out=True)
    stage.say("status", out=True)


def index_ocr(stage: Stage) -> None:
    with stage.patch.context() as patch:
        patch.setenv("PATH", str(stage.tmp))
        patch.setitem(sys.modules, "rapidocr", None)
        stage.say("index", "--ocr")
    stage.say("index", "--ocr")
    file = user_paths().vault_settings_file(stage.vault)
    file.write_text("[vault.attachments]\nread = false\n", encoding="utf-8")
    stage.say("index", "--ocr")


def config(stage: Stage) -> None:
    stage.say("config", "--check", out=True, vault=False)
    stage.say("config", "--check", out=True)
    stage.say("search", "sync")
    file = stage.write("home/config/excerpt.toml", "[pack]\nbudget = 123\n")
    stage.say("config", "--check", out=True, vault=False)
    for text in (
        "[pack]\nbugdet = 5\n",
        "[pack]\nbudget = -5\n",
        '[search]\nstrategy = "fast"\n',
        "[pack\n",
        '[vault]\ninclude = ["a[z-b]"]\n',
        '[screen.keys]\ncopy-pack = "ctrl+s"\n',
        '[screen.keys]\ncopy-pak = "f9"\n',
        '[screen.keys]\nquit = "ctrl+i"\n',
    ):
        file.write_text(text)
        stage.lines.append(f"  {json.dumps(text)} in the settings:")
        stage.say("config", "--check", vault=False)
    file.write_text(f'[embedding]\nmodel = "{stage.tmp}/no-model"\n')
    stage.say("search", "sync")
    file.unlink()
    stage.patch.setenv("VISUAL", f"{sys.executable} -c 'raise SystemExit(4)'")
    stage.say("config", "--edit", vault=False)


def watch(stage: Stage) -> None:
    stage.say("watch", "--vault", "{tmp}/nowhere", vault=False)
    command = [sys.executable, "-m", "excerpt", "watch", "--vault", str(stage.vault)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            said = process.stdout.readline() + process.stderr.readline()
            said = re.sub(r"generation \d+", "generation {number}", said)  # a slow first build is committed in parts
            process.send_signal(signal.SIGINT)
            stage.record("excerpt watch", said, process.wait(240))
        finally:
            process.kill()


def servers(stage: Stage) -> None:
    stage.say("watch", "--merge")
    stage.say("mcp", "{tmp}/nowhere", vault=False)
    stage.say("mcp", "{vault}", "--http", "--host", "0.0.0.0", vault=False)
    answer = stage.call("mcp", "{vault}", "--print-config", "claude", vault=False)
    stage.record("excerpt mcp {vault} --print-config claude", re.sub("-- .* mcp", "-- {command} mcp", answer.err))
    for client in ("cursor", "vscode", "codex"):
        stage.say("mcp", "{vault}", "--print-config", client, vault=False)
    stage.say("serve", "{tmp}/nowhere", vault=False)
    stage.say("serve", "{vault}", "--socket-path", "{vault}/a.sock", vault=False)
    stage.say("serve", "{vault}", "--socket-path", f"{{tmp}}/{'a' * 100}", vault=False)


# --- moved vaults -----------------------------------------------------------------------------------------------------


def a_vault_that_moved(stage: Stage) -> None:
    stage.call("remember", "Lentils keep well.")
    stage.vault.rename(stage.tmp / "renamed")
    stage.say("recall", "--vault", "{tmp}/renamed", vault=False)


def a_copy_of_a_vault(stage: Stage) -> None:
    stage.call("remember", "Lentils keep well.")
    shutil.copytree(stage.vault, stage.tmp / "copy")
    stage.say("doctor", "--vault", "{tmp}/copy", "--adopt", "{vault}", out=True, vault=False)
    stage.say("doctor", "--adopt", "{tmp}/nowhere")
    stage.say("doctor", "--adopt", "{vault}")
    stage.say("doctor", "--adopt", "{tmp}/nowhere", "--fix")


def a_last_vault_that_is_gone(stage: Stage) -> None:
    add_recent_vault(user_paths(), stage.tmp / "gone")
    stage.say(vault=False)
    stage.say("status", vault=False)


SCENES = (
    *(wrong_words, a_vault_that_cannot_be_opened, a_home_folder_as_a_vault, folders_of_excerpt_that_cannot_be),
    *(a_last_vault_that_is_gone, a_vault_that_moved, a_copy_of_a_vault, a_vault_that_lost_all_notes),
    *(a_bug_of_excerpt, too_little_memory, streams_that_cannot_be_used, files_without_an_end),
    *(search, search_why, search_batch, embedding, overview, related, maps, read_and_peek),
    *(pack, pack_formats, pack_into_a_file, check),
    *(remember, recall, memories_whose_files_are_odd, edit_and_forget),
    *(gold, news),
    *(learned, index_and_status, index_ocr, config, watch, servers),
    *(an_index_that_is_damaged, an_index_that_is_written_elsewhere, an_index_on_a_full_disk),
    an_index_in_the_place_of_which_is_a_file,
)


@pytest.mark.needs("tesseract")
@pytest.mark.usefixtures("tiny_stores")
def test_the_sentences_of_the_command_line_equal_the_golden_file(excerpt: Excerpt, tmp_path: Path) -> None:
    said = []
    for scene in SCENES:
        with stage(excerpt, tmp_path / scene.__name__) as opened:
            scene(opened)
        said.append((scene.__name__.replace("_", " "), opened.lines))
    text = as_text(said)
    assert text == read_golden(GOLDEN, text)
