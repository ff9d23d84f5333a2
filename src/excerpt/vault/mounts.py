"""Detection of file systems (network shares) that do not report changes made by other machines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

# File systems on which another machine, or the host of a virtual one, can make changes that are not reported here. A
# file system in user space (fuse.sshfs, fuse.rclone) may be any kind, so it counts as one of them.
_FILE_SYSTEMS_WITHOUT_EVENTS = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "afpfs", "ceph", "glusterfs", "lustre"),
        *("gpfs", "beegfs", "ocfs2", "gfs2", "coda", "ncpfs", "webdav", "davfs", "drvfs", "vboxsf", "prl_fs"),
        *("vmhgfs", "macfuse", "osxfuse"),
    }
)
_MOUNTINFO = Path("/proc/self/mountinfo")


class Mount(Struct, frozen=True):
    """A mounted file system: its mount point and its type (`nfs4`)."""

    path: Path
    kind: str

    @property
    def lacks_change_events(self) -> bool:
        """Whether another machine, or the host of a virtual machine, can change files here without causing events."""
        return self.kind in _FILE_SYSTEMS_WITHOUT_EVENTS or self.kind.startswith("fuse.")


def lacks_change_events(folder: Path) -> bool:
    """Return whether changes in `folder`, or in a file system mounted below it, may happen without an event."""
    if sys.platform == "win32":
        return os.fspath(folder).startswith("\\\\")  # a share; a mapped drive resolves to one
    return any(mount.lacks_change_events for mount in mounts_of(folder, _list_mounts()))


def mounts_of(folder: Path, mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts that hold a part of `folder`: the mount that it is on, and the mounts below the folder."""
    all_mounts = list(mounts)
    above = [mount for mount in all_mounts if mount.path == folder or mount.path in folder.parents]
    below = [mount for mount in all_mounts if folder in mount.path.parents]
    # Of two at the same mount point, the later one hides the earlier.
    return below + sorted(above, key=lambda mount: len(mount.path.parts))[-1:]


def mounts_from_linux(mountinfo: str) -> list[Mount]:
    """Parse the text of /proc/self/mountinfo and return the mounts.

    The format is documented in proc(5): the fifth field is the mount point, and the type follows a lone dash.
    """
    mounts = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")[0]
        if len(fields) > 4 and kind:
            path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
            mounts.append(Mount(Path(path), kind))
    return mounts


def mounts_from_bsd(listed: str) -> list[Mount]:
    """Parse the output of `mount` on macOS and the BSDs: `//me@host/share on /Volumes/share (smbfs, nodev)`."""
    lines = re.findall(r"^.* on (/.*) \((\w+)[,)]", listed, re.MULTILINE)
    return [Mount(Path(path), kind) for path, kind in lines]


def _list_mounts() -> list[Mount]:
    try:
        return mounts_from_linux(os.fsdecode(_MOUNTINFO.read_bytes()))
    except OSError:
        pass  # not Linux
    try:
        listed = subprocess.run(["/sbin/mount"], capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return []
    return mounts_from_bsd(os.fsdecode(listed.stdout))
