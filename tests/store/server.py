"""Real PostgreSQL servers for the tests: a primary and a replica with pgvector, and an older one without it.

Nothing is installed on the machine: Debian's packages are unpacked into build/team, once, and the servers run in there.
TEST_POSTGRES chooses the version. That needs root and Debian's apt; elsewhere TEST_DSN (and TEST_REPLICA_DSN,
TEST_PLAIN_DSN) name running servers.
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

VERSION = os.environ.get("TEST_POSTGRES", "18")
PLAIN_VERSION = "15"
"""The oldest PostgreSQL that a store supports. Its release of Debian has no pgvector."""
USER = "excerpt"

_FOLDER = Path(__file__).parents[2] / "build" / "team"
_RELEASES = {PLAIN_VERSION: "bookworm", "17": "trixie", "18": "forky"}
"""The release of Debian that has each version."""
_FIRST_WITH_BUILTIN_LOCALE = 17
_NOBODY = 65534
_SETTINGS = (
    *("listen_addresses=127.0.0.1", "unix_socket_directories="),
    # The folder has no /dev/shm. The tests cover the end of a process, not of the machine.
    *("dynamic_shared_memory_type=mmap", "fsync=off", "shared_buffers=256MB", "maintenance_work_mem=256MB"),
    # Lets the replica continue after a crash of its primary, which by itself keeps too little of its log.
    *("wal_keep_size=1GB", "wal_retrieve_retry_interval=200ms"),
)


class NoServerError(Exception):
    """Error if no server can be started here and none is configured; states the reason and a solution."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Addresses of databases of a primary and of its replica, without a password (PGPASSWORD has it).

    `replica` is "" if there is none. `crash` kills the primary and restarts it; it is None for a server that the tests
    must not kill.
    """

    primary: str
    replica: str
    crash: Callable[[], None] | None = None


@contextmanager
def servers() -> Iterator[Servers]:
    """Yield the servers of TEST_DSN and TEST_REPLICA_DSN, or two that run for the context.

    Raises NoServerError.
    """
    if named := os.environ.get("TEST_DSN"):
        yield Servers(named, os.environ.get("TEST_REPLICA_DSN", ""))
        return
    with _password(), ExitStack() as running:
        primary, data = _start_primary(VERSION, running)
        replica = _Server(primary.root, data / "replica", VERSION)
        replica.copy(primary)
        running.callback(replica.stop)
        replica.start()
        yield Servers(primary.dsn, replica.dsn, primary.crash)


@contextmanager
def single_server(version: str = VERSION) -> Iterator[Servers]:
    """Yield a server without a replica that runs for the context, or that of TEST_DSN.

    That of PLAIN_VERSION, or of TEST_PLAIN_DSN, has no pgvector. Raises NoServerError.
    """
    if named := os.environ.get("TEST_PLAIN_DSN" if version == PLAIN_VERSION else "TEST_DSN"):
        yield Servers(named, "")
        return
    with _password(), ExitStack() as running:
        primary, _ = _start_primary(version, running)
        yield Servers(primary.dsn, "")


@contextmanager
def _password() -> Iterator[None]:
    """Have one password for all servers in PGPASSWORD, within the context."""
    before = os.environ.get("PGPASSWORD")
    os.environ["PGPASSWORD"] = before or secrets.token_urlsafe(24)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PGPASSWORD", None)


def _start_primary(version: str, running: ExitStack) -> tuple[_Server, Path]:
    """Start a new server until `running` ends, and return it with the folder for the data of servers."""
    root = _unpacked(version)
    # A path inside the servers' root.
    data = Path(tempfile.mkdtemp(prefix="run-", dir=root / "pg"))
    running.callback(shutil.rmtree, data, ignore_errors=True)
    os.chown(data, _NOBODY, _NOBODY)
    primary = _Server(root, data / "primary", version)
    primary.make(os.environ["PGPASSWORD"])
    running.callback(primary.stop)
    primary.start()
    return primary, data


class _Server:
    """A server in `root`, on its own port, with its data in a folder that does not exist yet."""

    def __init__(self, root: Path, data: Path, version: str) -> None:
        self.root = root
        self._version = version
        self._data = f"/{data.relative_to(root)}"
        self._log = data.with_suffix(".log")
        self._port = _free_port()

    @property
    def dsn(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self._port}/postgres"

    def make(self, password: str) -> None:
        """Initialize the data of a new, empty server."""
        file = self._log.with_name("password")
        file.write_text(password, encoding="ascii")
        os.chown(file, _NOBODY, _NOBODY)
        locale = ["--encoding=UTF8", "--locale=C"]
        if int(self._version) >= _FIRST_WITH_BUILTIN_LOCALE:
            locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run(
            *("initdb", "-D", self._data, "-U", USER, "--auth=scram-sha-256", "--no-sync", *locale),
            f"--pwfile=/{file.relative_to(self.root)}",
        )

    def copy(self, primary: _Server) -> None:
        """Copy the data of another server and become its replica."""
        self._run(
            *("pg_basebackup", "-D", self._data, "-h", "127.0.0.1", "-p", str(primary._port), "-U", USER),
            *("--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--wal-method=stream"),
        )

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        settings = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"port={self._port}"))
        log = f"/{self._log.relative_to(self.root)}"
        try:
            self._run("pg_ctl", "start", "--wait", "-D", self._data, "-l", log, "-o", settings)
        except NoServerError as error:
            said = self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
            raise NoServerError(f"{error}\n{said[-2000:]}") from error

    def stop(self) -> None:
        """Stop the server with all connections, if it runs."""
        command = self._in_root("pg_ctl", "stop", "--wait", "-D", self._data, "-m", "immediate")
        subprocess.run(command, capture_output=True, check=False)

    def crash(self) -> None:
        """Kill the server as a power failure would, and restart it once its child processes have ended too."""
        parent = int((self.root / self._data[1:] / "postmaster.pid").read_text(encoding="ascii").split()[0])
        processes = [parent, *_children(parent)]
        os.kill(parent, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() for process in processes):
            time.sleep(0.01)
        self.start()

    def _run(self, *command: str) -> None:
        _run(self._in_root(*command))

    def _in_root(self, program: str, *arguments: str) -> list[str]:
        user = f"--userspec={_NOBODY}:{_NOBODY}"
        return ["chroot", user, str(self.root), f"/usr/lib/postgresql/{self._version}/bin/{program}", *arguments]


def _children(parent: int) -> list[int]:
    lists = Path(f"/proc/{parent}/task").glob("*/children")
    return [int(number) for one in lists for number in one.read_text(encoding="ascii").split()]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


# --- packages ---------------------------------------------------------------------------------------------------------


def _unpacked(version: str) -> Path:
    """Return the folder of the unpacked packages of a version, creating it if needed. Raises NoServerError."""
    missing = [program for program in ("apt-get", "dpkg", "chroot") if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        why = f"{', '.join(missing)} not found" if missing else "that takes root"
        raise NoServerError(
            f"PostgreSQL cannot be started here ({why}). Set TEST_DSN to the address of a database of PostgreSQL 17 or"
            " newer with pgvector whose user may create databases, TEST_REPLICA_DSN to one of its replica,"
            " and TEST_PLAIN_DSN to one of PostgreSQL 15 or newer without pgvector."
        )
    folder = _FOLDER / version
    folder.mkdir(parents=True, exist_ok=True)
    root, made = folder / "root", folder / ".unpacked"
    packages = ("dash", f"postgresql-{version}" if version == PLAIN_VERSION else f"postgresql-{version}-pgvector")
    wanted = " ".join(packages)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists() or made.read_text(encoding="ascii") != wanted:
            shutil.rmtree(root, ignore_errors=True)
            for package in _downloaded(folder / "apt", _RELEASES[version], packages):
                _run(["dpkg", "-x", str(package), str(root)])
            _furnish(root)
            made.write_text(wanted, encoding="ascii")
    return root


def _downloaded(apt: Path, release: str, packages: Sequence[str]) -> list[Path]:
    """Download packages and their dependencies into the folder `apt`, from the machine's own mirror; return the files.

    `release` is the release of Debian that has them.
    """
    for folder in (apt / "lists" / "partial", apt / "cache" / "archives" / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb {_mirror()} {release} main\n", encoding="utf-8")
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
    _run([*get, "-y", "--download-only", "install", *packages])
    return sorted((apt / "cache" / "archives").glob("*.deb"))


def _mirror() -> str:
    """Return the Debian mirror that this machine's apt uses. Raises NoServerError."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    for address in _run(asked).splitlines():
        if address.rstrip("/").endswith("/debian"):
            return address
    raise NoServerError("PostgreSQL cannot be fetched here: apt knows no mirror of Debian. TEST_DSN names a server.")


def _furnish(root: Path) -> None:
    """Create the files that programs expect in their root, besides those of the packages."""
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
    """Run a program and return its output. Raises NoServerError with that output."""
    # Into a file: a server started by pg_ctl would keep a pipe open as long as it runs.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False)
        out.seek(0)
        said = out.read()
    if done.returncode != 0:
        raise NoServerError(f"{' '.join(command)} exited with {done.returncode}:\n{said}")
    return said
