"""The settings from excerpt.toml, and the paths of the program's files.

The settings in excerpt.toml apply to all vaults; a vault may have a file of its own, whose keys take precedence.
Unknown keys and wrong values are errors that name the file, the key and the most similar valid key, so that no setting
is ignored because of a typing mistake.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import msgspec
from msgspec import Struct

from excerpt.base.errors import ExcerptError, SettingsError, VaultError
from excerpt.base.kinds import Fill, Format, Scope, Strategy
from excerpt.base.state_files import read_text

T = TypeVar("T")

MEANING = "meaning"
"""The key of a field's metadata that holds the description of a setting."""

MAX_HITS = 10_000
"""Maximum of hits, notes or memories in one answer. Among 111,000 fragments, 10,000 hits take 2 s and 90 MB."""
MAX_PACKED = 500
"""Maximum of hits in a pack that fills its budget, and of neighbors on each side. Of 500 hits, copies are found and
those that fit chosen in at most 7 s and 240 MB; 10,000 take 7 minutes and 700 MB, as each is compared with the others.
"""
MAX_TOKENS = 10_000_000
"""Maximum of tokens of a pack or an overview: the largest context of a model. Tokens cost less than the hits do."""
MAX_COUNT = 1_000_000_000
"""Maximum of any other count in settings and on the command line: more than anyone needs, safe for arrays."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_COUNT)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
Hits = Annotated[int, msgspec.Meta(ge=1, le=MAX_HITS)]
Neighbors = Annotated[int, msgspec.Meta(ge=0, le=MAX_PACKED)]
Tokens = Annotated[int, msgspec.Meta(ge=0, le=MAX_TOKENS)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=600)]
Bytes = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Extension = Annotated[str, msgspec.Meta(pattern=r"^\.[^/]+$")]


LANGUAGES: Mapping[str, str] = {
    "ar": "arabic", "bg": "bulgarian", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "he": "hebrew", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "ja": "japanese", "km": "khmer", "ko": "korean", "lo": "lao",
    "lt": "lithuanian", "my": "burmese", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "th": "thai", "tr": "turkish", "uk": "ukrainian", "vi": "vietnamese", "zh": "chinese",
}  # fmt: skip
"""ISO 639-1 codes and English names of the languages that the analyzer recognises."""

Language = Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["", *LANGUAGES]})]


MAX_SETTINGS_BYTES = 1_000_000
"""Maximum size in bytes of a settings or theme file: one written by hand has some kB."""

_RETIRED_KEYS: Mapping[str, str] = {
    "screen.context": "",
    "screen.density": "",
    "search.boosts.use": "",
    "pack.limit": "packs end by pack.fill and pack.budget",
}
"""Keys of older versions, with what a user is told of their successors; files that still have them are valid."""


class Fusion(StrEnum):
    """How signals are combined to one score: a weighted sum, or reciprocal ranks."""

    WEIGHTED = "weighted"
    RRF = "rrf"


class Ocr(StrEnum):
    """The program that reads images: none, any installed one, or one of the two supported ones."""

    OFF = "off"
    AUTO = "auto"
    TESSERACT = "tesseract"
    RAPIDOCR = "rapidocr"


class Comments(StrEnum):
    """Who finds and reads the comments in notes (`%%…%%`, `<!-- … -->`): the user alone, everybody, or nobody.

    Everybody includes agents, servers, programs, and packs.
    """

    AUTHOR = "author"
    EVERYBODY = "everybody"
    NOBODY = "nobody"


def setting(default: T, meaning: str) -> T:
    """Declare a setting: return a dataclass field with its default and `meaning`, a description in one sentence."""
    return field(default=default, metadata={MEANING: meaning})


@dataclass(frozen=True, slots=True)
class AttachmentSettings:
    """The settings for attachments: which are read, and up to which size; a file over a limit is reported."""

    read: bool = setting(True, "Read PDFs, slides, documents, sheets, canvases and other attachments.")
    weight: Share = setting(0.8, "Weight of an attachment's score against a note's, 0 to 1.")
    ocr: Ocr = setting(Ocr.OFF, "Read images and scanned pages by OCR: auto uses tesseract if installed.")
    max_bytes: Bytes = setting(64 * 1024 * 1024, "Size of an attachment above which it is skipped.")
    max_pages: Positive = setting(2000, "Most pages to read of one attachment.")


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """The settings that say which files are notes, and in which language they are."""

    extensions: tuple[Extension, ...] = setting((".md", ".markdown", ".mdx", ".qmd"), "File name endings of notes.")
    include: tuple[str, ...] = setting((), "Patterns, as in a .gitignore, of files to read; if empty, all.")
    exclude: tuple[str, ...] = setting(
        (), 'Patterns of files not to read; a pattern with "!" in front makes an exception.'
    )
    max_bytes: Bytes = setting(16 * 1024 * 1024, "Larger files are skipped.")
    language: Language = setting("", 'The language of all notes, as "de"; if empty, detected.')
    attachments: AttachmentSettings = field(default_factory=AttachmentSettings)


@dataclass(frozen=True, slots=True)
class TextSettings:
    """The settings that say which parts of a note's text are found and shown."""

    comments: Comments = setting(
        Comments.AUTHOR, "Who finds and reads the notes' comments: only you, agents and packs too, or nobody."
    )

    def shows_comments(self, *, for_author: bool) -> bool:
        """Return whether comments are shown to the author of the notes (`for_author`), or else to everybody."""
        return self.comments is Comments.EVERYBODY or (for_author and self.comments is Comments.AUTHOR)


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding model, and the languages in which the similarity of meaning counts fully."""

    model: str = setting("", '"minilm", or a folder, name or address, as in the guide; if empty, the one that ships.')
    languages: tuple[str, ...] = setting(
        (), 'Languages whose vectors are trusted; "*" for all; if empty, those of the model.'
    )
    remote: bool = setting(False, "Allow an address on another machine, to which the notes' text is sent.")


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """A second model that reads the first hits again and changes their order."""

    model: str = setting("", "Folder or address of a cross-encoder, as in the guide; if empty, none.")
    weight: Share = setting(0.5, "Weight of the model's score against the score of the search, 0 to 1.")
    seconds: Seconds = setting(2.0, "Most seconds for reranking; after that, the order of the search stays.")


@dataclass(frozen=True, slots=True)
class BoostSettings:
    """The score boosts that are enabled."""

    links: bool = setting(True, "Rank notes higher if many matching notes link to them.")
    recency: bool = setting(False, "Rank notes higher if they changed recently.")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The settings of searches: how fragments are scored, and how many hits are returned."""

    strategy: Strategy = setting(Strategy.AUTO, "How fragments are scored.")
    limit: Hits = setting(50, "Number of hits; the screen loads as many more at the end of the list.")
    fuzzy_threshold: Share = setting(0.8, "Similarity from which a word counts as misspelt, 0 to 1.")
    fusion: Fusion = setting(Fusion.WEIGHTED, "How signals become a score: weighted (a sum) or rrf (by ranks).")
    learn: bool = setting(True, "Rank hits higher that you used for similar queries; if off, no use is recorded.")
    per_note: Count = setting(3, "Most fragments of a note in the first 10 hits, twice as many in 50; 0 for no limit.")
    boosts: BoostSettings = field(default_factory=BoostSettings)


@dataclass(frozen=True, slots=True)
class PackSettings:
    """The settings of packs: what goes into a pack, and in which format."""

    budget: Tokens = setting(4000, "Most tokens of a pack, sources included.")
    tokenizer: str = setting("o200k", "Tokenizer: a name, or the path of a tokenizer.json.")
    scope: Scope = setting(Scope.NEIGHBORS, "How far a hit is extended: not (none), to its neighbors, section or note.")
    neighbors: Neighbors = setting(1, "Paragraphs on each side of a hit, in the scope neighbors.")
    fill: Fill = setting(Fill.ENOUGH, "Stop when the pack probably holds the answer (enough), or fill the budget.")
    format: Format = setting(Format.MARKDOWN, "How a pack is written.")
    question: bool = setting(False, "Put the query below the passages.")
    template: str = setting("", "Jinja2 file for the format template, relative to the settings file.")


class MemoryLocation(StrEnum):
    """Where a new memory is saved: in the user's own files, or in the store of the vault, for its readers."""

    OWN = "own"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The settings that say where memories are saved, and where they are shown with the hits of a search."""

    in_search: bool = setting(True, "Show memories among the hits, and a sign at fragments you remembered.")
    recall_first: bool = setting(False, "Show memories before the hits.")
    location: MemoryLocation = setting(
        MemoryLocation.OWN, "Save new memories for you alone (own), or share them in a vault's store (store)."
    )


@dataclass(frozen=True, slots=True)
class ScreenSettings:
    """The settings of the app: its look, its keys, and the programs that it opens."""

    theme: str = setting("", "The colours: a theme, or a file in themes/; if empty, dark or light as the terminal is.")
    editor: str = setting("", "Command that opens notes, such as nvim or code -w; if empty, $VISUAL, then $EDITOR.")
    viewers: dict[str, str] = field(
        default_factory=dict,
        metadata={MEANING: 'Commands for attachments, by kind: pdf = "zathura -P {page} {file}".'},
    )
    restore: bool = setting(True, "Restore the last query, selection, tab and panes; if off, they are not saved.")
    plain: bool = setting(False, "Draw letters and ASCII signs instead of lines and blocks, without motion.")
    motion: bool = setting(True, "Animate the screen; if off, nothing moves by itself.")
    keys: dict[str, str] = field(
        default_factory=dict, metadata={MEANING: "Other keys for actions, by the action's name."}
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; each field holds one table of excerpt.toml.

    The field of a setting declares its type, range, default and description. From these fields files are checked, and
    the JSON schema, a new excerpt.toml and the guide's tables are generated.
    """

    vault: VaultSettings = field(default_factory=VaultSettings)
    text: TextSettings = field(default_factory=TextSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    pack: PackSettings = field(default_factory=PackSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    screen: ScreenSettings = field(default_factory=ScreenSettings)


class Paths(Struct, frozen=True):
    """The folders that excerpt uses; none is inside a vault. EXCERPT_HOME puts all of them under one folder."""

    config: Path
    cache: Path
    data: Path
    state: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """The four folders without duplicates: on some systems several have the same path."""
        return tuple(dict.fromkeys((self.config, self.cache, self.data, self.state)))

    @property
    def settings_file(self) -> Path:
        return self.config / "excerpt.toml"

    def vault_settings_file(self, vault: Path) -> Path:
        """Return the settings file of one vault. The user edits it; it is never inside the vault."""
        return self.config / "vaults" / f"{vault_slug(vault)}.toml"

    def index_folder(self, vault: Path) -> Path:
        """Return the cache folder of a vault's index; it may be deleted at any time."""
        return self.cache / "index" / vault_slug(vault)

    def tokens_file(self, tokenizer: str) -> Path:
        """Return the file of a tokenizer's vocabulary; it may be deleted at any time."""
        return self.cache / f"{tokenizer}.tokens"

    def memory_folder(self, vault: Path) -> Path:
        """Return the folder of a vault's memories, which are the user's data: excerpt never deletes it."""
        return self.data / "memories" / vault_slug(vault)

    def memory_index_folder(self, vault: Path) -> Path:
        """Return the cache folder of the index of a vault's memories; it may be deleted at any time."""
        return self.cache / "memories" / vault_slug(vault)

    def shared_memory_folder(self, vault: Path) -> Path:
        """Return the cache folder of a copy of the memories that a store shares, and of its index.

        It may be deleted at any time.
        """
        return self.cache / "shared-memories" / vault_slug(vault)

    def marks_file(self, vault: Path) -> Path:
        """Return the file of the fragments that are marked in the app; it may be deleted at any time."""
        return self.state / "marks" / f"{vault_slug(vault)}.json"

    def session_file(self, vault: Path) -> Path:
        """Return the file of the app's last state in one vault (query, selection); it may be deleted at any time."""
        return self.state / "sessions" / f"{vault_slug(vault)}.json"

    @property
    def first_hint_file(self) -> Path:
        """Path of an empty file that is created when the hint for new users was shown, so it is shown once."""
        return self.state / "begun"

    @property
    def model_offer_file(self) -> Path:
        """Path of an empty file that is created when a better embedding model was offered, so it is offered once."""
        return self.state / "model-offered"

    def token_savings_file(self, vault: Path) -> Path:
        """Return the file that counts the tokens saved by packs; it may be deleted at any time."""
        return self.state / "savings" / f"{vault_slug(vault)}.json"

    def use_file(self, vault: Path) -> Path:
        """Return the log of hits that the user opened, marked or copied; it may be deleted at any time."""
        return self.state / "use" / f"{vault_slug(vault)}.jsonl"

    def history_file(self, vault: Path) -> Path:
        """Return the file of the query history; it may be deleted at any time."""
        return self.state / "history" / f"{vault_slug(vault)}.jsonl"

    def saved_queries_file(self, vault: Path) -> Path:
        """Return the file of the saved queries, which are the user's data: excerpt never deletes it."""
        return self.data / "queries" / f"{vault_slug(vault)}.json"

    def seen_hits_file(self, vault: Path) -> Path:
        """Return the file that says which hits of saved queries were seen; it may be deleted at any time."""
        return self.state / "seen" / f"{vault_slug(vault)}.json"

    def gold_file(self, vault: Path) -> Path:
        """Return the file of the gold set, which is the user's data: excerpt never deletes it."""
        return self.data / "gold" / f"{vault_slug(vault)}.jsonl"

    def gold_run_file(self, vault: Path) -> Path:
        """Return the file of the last run of the gold set; it may be deleted at any time."""
        return self.state / "gold" / f"{vault_slug(vault)}.json"

    @property
    def agents_folder(self) -> Path:
        """Folder of copies of agents' configuration files as they were; these are the user's data."""
        return self.data / "agents"

    @property
    def hook_folder(self) -> Path:
        """Folder of the prompt hook: its log, and the fragments that sessions got; it may be deleted at any time."""
        return self.state / "agents"

    def known_path_file(self, vault: Path) -> Path:
        """Return the file with a vault's path, by which its data is named after it has moved."""
        return self.data / "vaults" / f"{vault_slug(vault)}.json"

    def push_folder(self, vault: Path) -> Path:
        """Return the folder that records what was pushed to which store.

        It may be deleted; the next push then removes nothing without asking.
        """
        return self.state / "pushes" / vault_slug(vault)

    def watch_folder(self, vault: Path) -> Path:
        """Return the folder with a lock file for each process that watches one vault; it may be deleted at any time."""
        return self.state / "watch" / vault_slug(vault)

    @property
    def token_file(self) -> Path:
        """The file of the token for clients of `excerpt mcp --http`.

        It is created at the first start of that server, and never deleted by excerpt.
        """
        return self.state / "mcp-token"

    @property
    def keys_file(self) -> Path:
        """Path of the file of keys for servers of models, by host. The user writes it."""
        return self.config / "keys.toml"

    @property
    def known_embedders_file(self) -> Path:
        """Path of the file of sample vectors, by which embedding servers are recognised; it may be deleted."""
        return self.cache / "embedders.json"

    def copies_folder(self) -> Path:
        """Return the folder where every copied text is also saved as a file, in case the clipboard fails."""
        return self.state / "copies"


def user_paths() -> Paths:
    """Return the folders below $EXCERPT_HOME, or by default the user's standard folders for programs.

    Raises ExcerptError if there is no home folder.
    """
    home = os.environ.get("EXCERPT_HOME")
    try:
        if home:
            root = Path(home).expanduser()
            return Paths(root / "config", root / "cache", root / "data", root / "state")
        from platformdirs import PlatformDirs  # takes a twentieth of the time of a short command, which may not need it

        dirs = PlatformDirs("excerpt", appauthor=False)
        return Paths(
            Path(dirs.user_config_dir), Path(dirs.user_cache_dir), Path(dirs.user_data_dir), Path(dirs.user_state_dir)
        )
    except RuntimeError as error:  # no home folder, or an unknown user after ~
        raise ExcerptError(
            "Files cannot be stored: there is no home folder.", "Set HOME or EXCERPT_HOME to a folder."
        ) from error


def vault_slug(vault: Path) -> str:
    """Return the name of a vault's data files: the name of its folder and a hash of its whole path."""
    resolved = vault.resolve()
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in resolved.name)[:40] or "vault"
    return f"{name}-{hashlib.blake2b(os.fsencode(resolved), digest_size=5).hexdigest()}"


def refuse_folders_in_vault(vault: Path, paths: Paths, home: Path | None = None) -> None:
    """Raise VaultError if a folder that excerpt writes to is inside the vault.

    A home folder or disk is exempt, because it contains these folders. The folder of memories is not checked: it may be
    in the vault. `home` is the user's home folder, by default `Path.home()`.
    """
    for folder in (paths.config, paths.cache, paths.state):
        if folder.resolve().is_relative_to(vault) and not contains_home(vault, home):
            raise VaultError(
                f"{folder} is inside the vault {vault}, which excerpt never writes to.",
                "Set EXCERPT_HOME to a folder elsewhere, or unset it.",
            )


def contains_home(folder: Path, home: Path | None = None) -> bool:
    """Return whether a resolved folder is the user's home folder or contains it; `home` is by default `Path.home()`."""
    try:
        return (home or Path.home()).resolve().is_relative_to(folder)
    except RuntimeError:  # there is no home folder
        return False


def open_vault(path: str | Path) -> Path:
    """Return the resolved path of a vault's folder. Raises VaultError if it is missing, a file, or cannot be listed."""
    vault = Path(path)
    try:
        vault = vault.expanduser()
        if not stat.S_ISDIR(vault.stat().st_mode):
            raise VaultError(f"{vault} is a file, not a folder.", f"Did you mean its folder, {vault.parent}?")
        next(vault.iterdir(), None)
        return vault.resolve()
    except (FileNotFoundError, NotADirectoryError, RuntimeError):  # RuntimeError: an unknown user after ~
        raise VaultError(f"There is no folder at {vault}.", "Name a folder of Markdown notes.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise VaultError(
            f"{vault} cannot be read: {getattr(error, 'strerror', None) or error}.", "Check its permissions."
        ) from error


def load_vault_settings(vault: Path, paths: Paths) -> Settings:
    """Return the settings for a vault: the general file, overridden by the vault's own file. Raises SettingsError."""
    return load_settings(paths.settings_file, paths.vault_settings_file(vault))


def load_settings(*files: Path) -> Settings:
    """Read settings files; later files take precedence, and missing keys or files give the defaults.

    Raises SettingsError, which names the invalid file.
    """
    merged: dict[str, Any] = {}
    for file in files:
        raw = _read_toml(file)
        check_settings(raw, file)
        _merge_tables(merged, raw)
    return msgspec.convert(merged, Settings)


def find_retired_settings(*files: Path) -> Iterator[str]:
    """Yield a sentence for each setting in valid settings files that has no effect any more, and has a successor."""
    for file in files:
        raw = _read_toml(file)
        for key, successor in _RETIRED_KEYS.items():
            if successor and _value_at_key(raw, key) is not None:
                yield f"{file}: {key} has no effect any more: {successor}."


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = read_text(file, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # brackets nested too deeply
        raise SettingsError(
            f"{file} is not valid TOML: {error}.", "Correct the file, or run `excerpt config --check`."
        ) from error


def check_settings(raw: dict[str, Any], file: Path) -> None:
    """Raise SettingsError if the values `raw` of one settings file are not valid; the error names `file`."""
    _reject_unknown_keys(raw, Settings, file, ())
    try:
        settings = msgspec.convert(raw, Settings)
    except msgspec.ValidationError as error:
        reason, _, key_path = str(error).partition(" - at `$.")
        key = key_path.rstrip("`") or "the file"
        hint = _similar_choice_hint(_value_at_key(raw, key), _enum_values(key))
        raise SettingsError(f"{file}: {key} is not valid: {reason[:1].lower()}{reason[1:]}.", hint) from error
    language = settings.vault.language
    if language and language not in LANGUAGES:
        hint = _similar_choice_hint(language, LANGUAGES) or f"Known: {', '.join(LANGUAGES)}."
        raise SettingsError(f"{file}: vault.language is not valid: {language!r} is not a supported language.", hint)


def _merge_tables(base: dict[str, Any], overrides: dict[str, Any]) -> None:
    """Merge `overrides` into `base`, table by table; a list in `overrides` replaces the list in `base`."""
    for key, value in overrides.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            _merge_tables(base[key], value)
        else:
            base[key] = value


def change_settings(settings: Settings, changes: Mapping[str, object]) -> Settings:
    """Return the settings with other values at some dotted keys, such as "search.per_note". Raises SettingsError."""
    raw = msgspec.to_builtins(settings)
    for key, value in changes.items():
        nested: Any = value
        for part in reversed(key.split(".")):
            nested = {part: nested}
        check_settings(nested, Path(key))
        _merge_tables(raw, nested)
    return msgspec.convert(raw, Settings)


def find_changes(settings: Settings, changed: Settings) -> dict[str, object]:
    """Return the values of `changed` that differ from those of `settings`, by their dotted keys."""
    return dict(_compare_tables(msgspec.to_builtins(settings), msgspec.to_builtins(changed), ""))


def _compare_tables(before: dict[str, Any], after: dict[str, Any], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict) and old:
            yield from _compare_tables(old, value, f"{prefix}{key}.")
        elif value != old:
            yield f"{prefix}{key}", value


def _enum_values(key: str) -> Mapping[str, str]:
    """Return the valid values of the setting with the dotted `key`, each mapped to itself; {} if any value is valid."""
    shape: Any = Settings
    for part in key.split("."):
        shape = get_type_hints(shape).get(part) if is_dataclass(shape) else None
    return {value: value for value in shape} if isinstance(shape, type) and issubclass(shape, StrEnum) else {}


def _value_at_key(raw: dict[str, Any], key: str) -> object:
    """Return the value at a dotted key such as "pack.budget"; None if `raw` has no such key."""
    value: Any = raw
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _similar_choice_hint(value: object, choices: Mapping[str, str]) -> str:
    """Return a hint with the choice that is most similar to `value`; "" if none is similar.

    `choices` are names by valid value, such as "german" by "de"; `value` is compared with both.
    """
    if not isinstance(value, str):
        return ""
    import difflib

    folded = value.strip().lower()
    by_name = {name: choice for choice, name in choices.items()} | {choice: choice for choice in choices}
    # "en-GB" and "pt_BR" are valid without the region.
    near = [folded[:2]] if folded[2:3] in ("-", "_") else difflib.get_close_matches(folded, by_name, n=1, cutoff=0.6)
    return f'Did you mean "{by_name[near[0]]}"?' if near and near[0] in by_name else ""


def _reject_unknown_keys(raw: dict[str, Any], table_class: type[Any], file: Path, parent_keys: tuple[str, ...]) -> None:
    """Raise SettingsError if the table `raw`, or a table in it, has a key that is no field of `table_class`."""
    hints = get_type_hints(table_class)
    names = [f.name for f in fields(table_class)]
    for key, value in raw.items():
        dotted = ".".join((*parent_keys, key))
        if dotted in _RETIRED_KEYS:
            continue
        if key not in names:
            import difflib

            near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"Did you mean {'.'.join((*parent_keys, near[0]))}?" if near else f"Known: {', '.join(names)}."
            raise SettingsError(f"{file}: unknown key {dotted}.", hint)
        if isinstance(value, dict) and is_dataclass(hints[key]):
            _reject_unknown_keys(value, hints[key], file, (*parent_keys, key))
