"""A real PostgreSQL for the tests: 18 with pgvector and pg_textsearch, from Debian's packages, a primary and a replica.

Nothing is installed on the machine: packages are unpacked into build/team/root, once, and servers run in there. That
takes root and Debian's apt; elsewhere TEST_DSN (and TEST_REPLICA_DSN) name servers that are there already.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "team"
USER = "excerpt"

# Of Debian testing: stable has an older PostgreSQL, and no pg_textsearch.
_RELEASE = "forky"
_PACKAGES = ("dash", "postgresql-18-pgvector", "postgresql-18-pg-textsearch")
_NOBODY = 65534
_PROGRAMS = "/usr/lib/postgresql/18/bin"
_SETTINGS = (
    *("listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_preload_libraries=pg_textsearch"),
    # There is no /dev/shm in the folder. What is tested survives the end of a process, not of the machine.
    *("dynamic_shared_memory_type=mmap", "fsync=off", "shared_buffers=256MB", "maintenance_work_mem=256MB"),
    # A replica goes on after a crash of its primary, which would keep no more of its log than it needs itself.
    *("wal_keep_size=1GB", "wal_retrieve_retry_interval=200ms"),
)


class NoServerError(Exception):
    """No server can be started here, and none is named. Says why, and what would help."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses of databases of a primary and of its replica, without a password (PGPASSWORD has it). `replica` is ""
    where there is none. `crash` kills the primary and starts it again, with other bytes in the file of its data that
    is named, if one is; None for a server that is not ours to kill."""

    primary: str
    replica: str
    crash: Callable[[str], None] | None = None


@contextmanager
def servers() -> Iterator[Servers]:
    """The servers that TEST_DSN and TEST_REPLICA_DSN name, or else two that run as long as the context. Raises
    NoServerError."""
    if named := os.environ.get("TEST_DSN"):
        yield Servers(named, os.environ.get("TEST_REPLICA_DSN", ""))
        return
    root = _unpacked()
    password, before = secrets.token_urlsafe(24), os.environ.get("PGPASSWORD")
    os.environ["PGPASSWORD"] = password
    # In the folder that the servers know as their root.
    data = Path(tempfile.mkdtemp(prefix="run-", dir=root / "pg"))
    os.chown(data, _NOBODY, _NOBODY)
    try:
        with ExitStack() as running:
            primary, replica = _Server(root, data / "primary"), _Server(root, data / "replica")
            primary.make(password)
            running.callback(primary.stop)
            primary.start()
            replica.copy(primary)
            running.callback(replica.stop)
            replica.start()
            yield Servers(primary.dsn, replica.dsn, primary.crash)
    finally:
        shutil.rmtree(data, ignore_errors=True)
        if before is None:
            del os.environ["PGPASSWORD"]
        else:
            os.environ["PGPASSWORD"] = before


class _Server:
    """A server in `root`, on a port of its own, with its data in a folder that does not exist yet."""

    def __init__(self, root: Path, data: Path) -> None:
        self._root = root
        self._data = f"/{data.relative_to(root)}"
        self._log = data.with_suffix(".log")
        self._port = _free_port()

    @property
    def dsn(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self._port}/postgres"

    def make(self, password: str) -> None:
        """Make the data of a new, empty server."""
        file = self._log.with_name("password")
        file.write_text(password, encoding="ascii")
        os.chown(file, _NOBODY, _NOBODY)
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        self._run(
            *("initdb", "-D", self._data, "-U", USER, "--auth=scram-sha-256", "--no-sync", *locale),
            f"--pwfile=/{file.relative_to(self._root)}",
        )

    def copy(self, primary: _Server) -> None:
        """Copy the data of another server, and follow it from then on."""
        self._run(
            *("pg_basebackup", "-D", self._data, "-h", "127.0.0.1", "-p", str(primary._port), "-U", USER),
            *("--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--wal-method=stream"),
        )

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"port={self._port}"))
        log = f"/{self._log.relative_to(self._root)}"
        try:
            self._run("pg_ctl", "start", "--wait", "-D", self._data, "-l", log, "-o", settings)
        except NoServerError as error:
            said = self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
            raise NoServerError(f"{error}\n{said[-2000:]}") from error

    def stop(self) -> None:
        """End it with all connections; a server that does not run is left alone."""
        command = _in_root(self._root, "pg_ctl", "stop", "--wait", "-D", self._data, "-m", "immediate")
        subprocess.run(command, capture_output=True, check=False)

    def crash(self, damaged: str) -> None:
        """End it as a loss of power would, and start it again once what it started has ended too."""
        parent = int((self._root / self._data[1:] / "postmaster.pid").read_text(encoding="ascii").split()[0])
        processes = [parent, *_children(parent)]
        os.kill(parent, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() for process in processes):
            time.sleep(0.01)
        if damaged:
            file = self._root / self._data[1:] / damaged
            file.write_bytes(os.urandom(file.stat().st_size))
        self.start()

    def _run(self, *command: str) -> None:
        _run(_in_root(self._root, *command))


def _children(parent: int) -> list[int]:
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(number) for one in lists for number in one.read_text(encoding="ascii").split()]


def _in_root(root: Path, program: str, *arguments: str) -> list[str]:
    user = f"--userspec={_NOBODY}:{_NOBODY}"
    return ["chroot", user, str(root), f"{_PROGRAMS}/{program}", *arguments]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


# --- packages ---------------------------------------------------------------------------------------------------------


def _unpacked() -> Path:
    """The folder with the unpacked packages, made if it is not there. Raises NoServerError."""
    missing = [program for program in ("apt-get", "dpkg", "chroot") if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        why = f"{', '.join(missing)} not found" if missing else "that takes root"
        raise NoServerError(
            f"PostgreSQL cannot be started here ({why}). Set TEST_DSN to the address of a database of PostgreSQL 18"
            " with pgvector and pg_textsearch whose user may create databases, TEST_REPLICA_DSN to one of its replica."
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    root, made = FOLDER / "root", FOLDER / ".unpacked"
    wanted = f"{_RELEASE} {' '.join(_PACKAGES)}"
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists() or made.read_text(encoding="ascii") != wanted:
            shutil.rmtree(root, ignore_errors=True)
            for package in _downloaded():
                _run(["dpkg", "-x", str(package), str(root)])
            _furnish(root)
            made.write_text(wanted, encoding="ascii")
    return root


def _downloaded() -> list[Path]:
    """The packages and all that they need, from the machine's own mirror."""
    apt = FOLDER / "apt"
    for folder in (apt / "lists" / "partial", apt / "cache" / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb {_mirror()} {_RELEASE} main\n", encoding="utf-8")
    places = {
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    get = ["apt-get", "-qq", *(word for name, value in places.items() for word in ("-o", f"{name}={value}"))]
    _run([*get, "update"])
    _run([*get, "-y", "--download-only", "install", *_PACKAGES])
    return sorted((apt / "cache" / "archives").glob("*.deb"))


def _mirror() -> str:
    """The mirror of Debian's archive that this machine's apt asks. Raises NoServerError."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    for address in _run(asked).splitlines():
        if address.rstrip("/").endswith("/debian"):
            return address
    raise NoServerError("PostgreSQL cannot be fetched here: apt knows no mirror of Debian. TEST_DSN names a server.")


def _furnish(root: Path) -> None:
    """What a program expects of its root, beside the packages' files."""
    for name in ("bin", "sbin", "lib", "lib64"):
        if not (root / name).exists() and (root / "usr" / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    for name in ("dev", "tmp", "pg"):
        (root / name).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    os.chown(root / "pg", _NOBODY, _NOBODY)
    for name, minor in (("null", 3), ("urandom", 9)):
        if not (root / "dev" / name).exists():
            os.mknod(root / "dev" / name, 0o020666, os.makedev(1, minor))
        (root / "dev" / name).chmod(0o666)
    (root / "etc" / "passwd").write_text(f"{USER}:x:{_NOBODY}:{_NOBODY}::/tmp:/bin/sh\n", encoding="ascii")


def _run(command: Sequence[str]) -> str:
    """Run a program; returns what it printed. Raises NoServerError with what it said."""
    # To a file: a server that pg_ctl starts keeps a pipe open for as long as it runs.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
        out.seek(0)
        said = out.read()
    if done.returncode != 0:
        raise NoServerError(f"{' '.join(command)} exited with {done.returncode}:\n{said}")
    return said
