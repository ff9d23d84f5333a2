"""excerpt finds the few passages in a Markdown vault that answer a question and packs them for an LLM prompt.

    import excerpt

    with excerpt.open("~/notes") as vault:
        print(vault.pack("how do sync conflicts end?", budget=1000).text)

`import excerpt` loads no other module: each public name is imported when it is first used. They are listed in
`excerpt.service.public`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it, without the time that typing takes
if TYPE_CHECKING:
    from excerpt.service.public import *  # noqa: F403 - the names that it lists

    __all__: list[str]

__version__ = "0.1.0"

_module_by_name: dict[str, str] = {}


def _find_modules() -> dict[str, str]:
    """Return the module of each public name, read from the lines `from MODULE import NAME as NAME`."""
    if not _module_by_name:
        from pathlib import Path

        lines = Path(__file__).with_name("service").joinpath("public.py").read_text(encoding="utf-8").splitlines()
        imports = [line.split() for line in lines if line.startswith("from ")]
        _module_by_name.update({words[3]: words[1] for words in imports})
    return _module_by_name


if not TYPE_CHECKING:  # or a misspelt name would be of any type

    def __getattr__(name: str) -> object:
        if name == "__all__":
            return sorted(_find_modules())
        if name.startswith("__") or name not in _find_modules():
            raise AttributeError(f"module 'excerpt' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_module_by_name[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_find_modules()})
