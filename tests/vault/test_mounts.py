"""Tests of which file systems report changes made by other machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.vault.mounts import Mount, lacks_change_events, mounts_from_bsd, mounts_from_linux, mounts_of

MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
91 27 0:52 / /home/me/My\\040notes rw,relatime shared:7 - nfs4 server:/export rw,vers=4.2
92 27 0:53 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs
93 27 0:54 / /home/me/remote rw,nosuid - fuse.sshfs me@there: rw
"""


@pytest.mark.parametrize(
    ("folder", "silent"),
    [
        ("/home/me/notes", False),
        ("/home/me/My notes", True),
        ("/home/me/My notes/sub", True),
        ("/home/me/My notes 2", False),
        ("/mnt/c/Users", True),
        ("/home/me/remote", True),
        ("/home/me", True),  # a part of it is on another file system
        ("/", True),
    ],
)
def test_a_folder_with_a_part_on_a_network_file_system_gives_no_change_events(folder: str, silent: bool) -> None:
    found = mounts_of(Path(folder), mounts_from_linux(MOUNTINFO))
    assert any(mount.lacks_change_events for mount in found) == silent


def test_of_two_file_systems_mounted_at_one_path_the_later_counts() -> None:
    mounts = [Mount(Path("/"), "ext4"), Mount(Path("/notes"), "nfs"), Mount(Path("/notes"), "ext4")]
    assert not any(mount.lacks_change_events for mount in mounts_of(Path("/notes/sub"), mounts))


def test_the_mount_list_of_macos_is_parsed() -> None:
    listed = "/dev/disk3s1 on / (apfs, sealed, local)\n//me@nas/share on /Volumes/My share (smbfs, nodev, nosuid)\n"
    assert mounts_from_bsd(listed) == [Mount(Path("/"), "apfs"), Mount(Path("/Volumes/My share"), "smbfs")]


def test_the_temporary_folder_of_this_machine_gives_events(tmp_path: Path) -> None:
    assert not lacks_change_events(tmp_path)
