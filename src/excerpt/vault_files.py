"""Opening of files and folders in a vault without following links, so nothing outside it is read.

A path is opened part by part, each relative to the folder before it, so it does not matter if a folder is replaced
meanwhile. The vault itself may be reached by a link. Windows opens no folders: there the system's path of an open file
is compared with the vault's.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from excerpt.errors import FileOpenError

_OPENS_FOLDERS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Nonblocking, as a pipe in the place of a file would be waited for.
_FILE = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# On the way to another, a folder need not be readable, which Linux alone can say.
_WAY = _FOLDER | getattr(os, "O_PATH", 0)
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """An open folder of a vault; `path` is relative to the vault, "" for the vault itself.

    A folder that replaces it meanwhile is another one. `descriptor` is -1 where the system opens no folders.
    """

    vault: Path
    path: str
    descriptor: int

    def entries(self) -> list[os.DirEntry[str]]:
        """Return what the folder holds. The entries' own `path` is not to be used. Raises OSError."""
        with os.scandir(self._whole if self.descriptor < 0 else self.descriptor) as entries:
            return list(entries)

    def open(self, name: str) -> BinaryIO:
        """Open a regular file of the folder. Raises FileOpenError."""
        try:
            _check_names(name)
            if self.descriptor >= 0:
                descriptor = os.open(name, _FILE, dir_fd=self.descriptor)
            else:
                descriptor = os.open(self._whole / name, _FILE)
        except (OSError, ValueError) as error:
            raise _unopened(error) from error
        if reason := self._reason_against(descriptor, name):
            os.close(descriptor)
            raise FileOpenError(reason)
        return os.fdopen(descriptor, "rb")

    def _reason_against(self, descriptor: int, name: str) -> str:
        """Return why what was opened is not to be read, "" if it is."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "The path is not a file but a device, pipe or socket."
        if self.descriptor < 0 and not _is_inside(descriptor, self._whole / name, self.vault):
            return "A link out of the vault leads to it."
        return ""

    @property
    def _whole(self) -> Path:
        return self.vault / self.path


@contextmanager
def open_folder(vault: Path, path: str) -> Iterator[OpenFolder]:
    """Open a folder of a vault for a block; `path` is relative, with "/".

    Raises OSError, and ValueError for what is no path in a vault.
    """
    parts = path.split("/") if path else []
    _check_names(*parts)
    if not _OPENS_FOLDERS:
        yield OpenFolder(vault, path, -1)
        return
    descriptor = os.open(vault, _WAY if parts else _FOLDER)
    try:
        for number, part in enumerate(parts, 1):
            above = descriptor
            flags = (_WAY if number < len(parts) else _FOLDER) | _NO_LINK
            descriptor = os.open(part, flags, dir_fd=above)
            os.close(above)
        yield OpenFolder(vault, path, descriptor)
    finally:
        os.close(descriptor)


def open_file(vault: Path, path: str) -> BinaryIO:
    """Open a regular file of a vault; `path` is relative, with "/". Raises FileOpenError."""
    folder, slash, name = path.rpartition("/")
    try:
        if slash:
            _check_names(folder)
        with open_folder(vault, folder) as opened:
            return opened.open(name)
    except (OSError, ValueError) as error:
        raise _unopened(error) from error


def _check_names(*names: str) -> None:
    """Raise ValueError if one of the names between the slashes of a path names no file of the folder before it."""
    if not {"", ".", ".."}.isdisjoint(names):
        raise ValueError(names)


def _unopened(error: OSError | ValueError) -> FileOpenError:
    if isinstance(error, ValueError):  # or one that holds what no path can
        return FileOpenError("It is not the path of a file in the vault.")
    if error.errno == errno.ENOENT:
        return FileOpenError("It vanished before it could be read.")
    if error.errno in _LINK_ERRORS:
        return FileOpenError("It, or a folder above it, has become a link, and links are not followed.")
    return FileOpenError(f"It cannot be read: {error.strerror or error}.", "Check its permissions.")


# --- where the system opens no folders --------------------------------------------------------------------------------


def _is_inside(descriptor: int, file: Path, vault: Path) -> bool:
    """Return whether an open file is inside the vault, by the path that the system reports for it.

    The path in `file` may lead to another file by now.
    """
    real = _final_path(descriptor) or os.path.realpath(file)  # some file systems of Windows cannot tell it
    return Path(_without_prefix(real)).is_relative_to(_without_prefix(os.path.realpath(vault)))


def _without_prefix(path: str) -> str:
    r"""Return a Windows path without the `\\?\` prefix for long paths."""
    return "\\\\" + path[8:] if path.startswith("\\\\?\\UNC\\") else path.removeprefix("\\\\?\\")


if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _LONGEST_PATH = 32_768

    def _final_path(descriptor: int) -> str:
        """Return the system's path of an open file, "" if unknown."""
        get = ctypes.WinDLL("kernel32").GetFinalPathNameByHandleW
        get.argtypes = (wintypes.HANDLE, wintypes.LPWSTR, wintypes.DWORD, wintypes.DWORD)
        get.restype = wintypes.DWORD
        path = ctypes.create_unicode_buffer(_LONGEST_PATH)
        length = get(msvcrt.get_osfhandle(descriptor), path, _LONGEST_PATH, 0)
        return path.value if 0 < length < _LONGEST_PATH else ""

else:

    def _final_path(_descriptor: int) -> str:
        """Return nothing: systems that open folders need no path."""
        return ""
