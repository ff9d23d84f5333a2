"""Open files and folders of a vault without following links, so that nothing outside the vault is read.

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
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from excerpt.base.errors import FileOpenError

_CAN_OPEN_FOLDERS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# Nonblocking, because opening a pipe would wait for a writer.
_FILE_FLAGS = os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# The folders above the opened one need not be readable; only Linux has a flag for that.
_PARENT_FLAGS = _FOLDER_FLAGS | getattr(os, "O_PATH", 0)
_LINK_ERRORS = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


class OpenFolder(Struct, frozen=True):
    """An open folder of a vault; `path` is relative to the vault, "" for the vault itself.

    `descriptor` is the file descriptor of the folder: it still refers to this folder if another one takes its path. It
    is -1 on systems that cannot open folders (Windows).
    """

    vault: Path
    path: str
    descriptor: int

    def entries(self) -> list[os.DirEntry[str]]:
        """Return the files and folders in the folder. Do not use the `path` of an entry. Raises OSError."""
        with os.scandir(self._absolute_path if self.descriptor < 0 else self.descriptor) as entries:
            return list(entries)

    def open(self, name: str) -> BinaryIO:
        """Open the regular file `name` of the folder for reading. Raises FileOpenError."""
        try:
            _check_names(name)
            if self.descriptor >= 0:
                descriptor = os.open(name, _FILE_FLAGS, dir_fd=self.descriptor)
            else:
                descriptor = os.open(self._absolute_path / name, _FILE_FLAGS)
        except (OSError, ValueError) as error:
            raise _to_unopened_error(error) from error
        if reason := self._refusal_reason(descriptor, name):
            os.close(descriptor)
            raise FileOpenError(reason)
        return os.fdopen(descriptor, "rb")

    def _refusal_reason(self, descriptor: int, name: str) -> str:
        """Return why the open file must not be read, in a sentence; "" if it may be read."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return "The path is not a file but a device, pipe or socket."
        if self.descriptor < 0 and not _is_inside(descriptor, self._absolute_path / name, self.vault):
            return "The file is outside the vault: a link leads to it."
        return ""

    @property
    def _absolute_path(self) -> Path:
        return self.vault / self.path


@contextmanager
def open_folder(vault: Path, path: str) -> Iterator[OpenFolder]:
    """Open a folder of a vault, for use in a `with` statement; `path` is relative to the vault, with "/".

    Raises OSError, and ValueError if `path` has a part such as ".." that no path in a vault has.
    """
    parts = path.split("/") if path else []
    _check_names(*parts)
    if not _CAN_OPEN_FOLDERS:
        yield OpenFolder(vault, path, -1)
        return
    descriptor = os.open(vault, _PARENT_FLAGS if parts else _FOLDER_FLAGS)
    try:
        for number, part in enumerate(parts, 1):
            above = descriptor
            flags = (_PARENT_FLAGS if number < len(parts) else _FOLDER_FLAGS) | _NO_FOLLOW
            descriptor = os.open(part, flags, dir_fd=above)
            os.close(above)
        yield OpenFolder(vault, path, descriptor)
    finally:
        os.close(descriptor)


def open_file(vault: Path, path: str) -> BinaryIO:
    """Open a regular file of a vault for reading; `path` is relative to the vault, with "/". Raises FileOpenError."""
    folder, slash, name = path.rpartition("/")
    try:
        if slash:
            _check_names(folder)
        with open_folder(vault, folder) as opened:
            return opened.open(name)
    except (OSError, ValueError) as error:
        raise _to_unopened_error(error) from error


def _check_names(*names: str) -> None:
    """Raise ValueError if one of the parts of a path is "", "." or "..", which name no file of their folder."""
    if not {"", ".", ".."}.isdisjoint(names):
        raise ValueError(names)


def _to_unopened_error(error: OSError | ValueError) -> FileOpenError:
    if isinstance(error, ValueError):  # a part such as "..", or a character that no path can have
        return FileOpenError("The path is not the path of a file in the vault.")
    if error.errno == errno.ENOENT:
        return FileOpenError("The file was deleted before it could be read.")
    if error.errno in _LINK_ERRORS:
        return FileOpenError("The file, or a folder above it, has become a link, and links are not followed.")
    return FileOpenError(f"The file cannot be read: {error.strerror or error}.", "Check its permissions.")


# --- systems that cannot open folders ---------------------------------------------------------------------------------


def _is_inside(descriptor: int, file: Path, vault: Path) -> bool:
    """Return whether an open file is inside the vault, by the path that the system reports for it.

    `file` is the path that was opened. By now it may lead to another file, so it is used only if the system reports no
    path.
    """
    real = _final_path(descriptor) or os.path.realpath(file)  # some file systems of Windows report none
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
        """Return "": on systems that can open folders, the path of an open file is not needed."""
        return ""
