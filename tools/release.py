"""Build what a release consists of into dist/: `make release`; its zipapp alone: `make zipapp`.

Everything is built from the newest commit, twice, in two folders; unless both have the same bytes, nothing is kept. A
zipapp holds compiled packages, so it is of one system and one version of Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
BUILD = ROOT / "build" / "release"
LARGEST_WHEEL = 12_000_000
"""Bytes."""
MCPB = "@anthropic-ai/mcpb@2.1.2"
"""The npm package whose program checks bundles."""
LOCAL_RECORDS = ("RECORD", "REQUESTED", "INSTALLER", "direct_url.json")
"""Files of an installed package that tell where and how it was installed."""
LAST_STEPS = """\
Built twice, with the same bytes, from {commit}:
{files}

What is left is for a person with the rights to publish:
{dated}  2. git tag -a v{version} -m "excerpt {version}", and push the tag to the public repository. The workflow
     "Release" runs the tests on every system, builds the same files and attests them. If a test fails, remove the tag.
  3. Compare wheel, sdist and bundle of the workflow with dist/SHA256SUMS.
  4. Approve the environment "release" there: wheel and sdist are uploaded by trusted publishing.
  5. Add the other files of the workflow to the page of the release.
  6. Raise the version for the next one, and begin a section of CHANGELOG.md (CONTRIBUTING.md, Release).
"""


UNDATED = """\
  1. Write the day of the release into CHANGELOG.md (## {version}, YYYY-MM-DD), commit, and run `make release` again:
     the file is in the sdist, so its bytes change.
"""


class ReleaseError(Exception):
    """A release cannot be built; the message says why."""


def main(arguments: Sequence[str]) -> None:
    commit = git("rev-parse", "HEAD")
    if git("status", "--porcelain"):
        raise ReleaseError("There are changes that are not committed. A release is built from a commit.")
    os.environ["SOURCE_DATE_EPOCH"] = git("show", "--no-patch", "--format=%ct", "HEAD")
    zipapp_alone = "--zipapp" in arguments
    shutil.rmtree(BUILD, ignore_errors=True)
    first, second = (build(BUILD / name, zipapp_alone) for name in ("first", "second"))
    if digests(first) != digests(second):
        raise ReleaseError(f"Two builds differ: compare {first} with {second}.")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(first, DIST)
    sums = "".join(f"{digest}  {name}\n" for name, digest in digests(DIST).items())
    (DIST / "SHA256SUMS").write_text(sums, encoding="utf-8")
    files = "\n".join(f"  {path.stat().st_size:>12,}  {path.name}" for path in sorted(DIST.iterdir()))
    version = read_version(ROOT)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(rf"^## {re.escape(version)}, \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE)
    step = "  1. Done: CHANGELOG.md has the day of the release.\n" if dated else UNDATED.format(version=version)
    print(LAST_STEPS.format(commit=commit[:10], files=files, dated=step, version=version))


def build(folder: Path, zipapp_alone: bool) -> Path:
    """Build the files of a release in `folder` and return the folder that has nothing else."""
    source, files = folder / "source", folder / "files"
    files.mkdir(parents=True)
    check_out(source)
    check_man_pages(source / "man")
    version = read_version(source)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", files, source)
    wheel, sdist = (files / f"excerpt-{version}{end}" for end in ("-py3-none-any.whl", ".tar.gz"))
    environment = install(wheel, folder / "environment", source / "constraints.txt")
    build_zipapp(environment, files / f"excerpt-{version}-{platform_tag()}.pyz")
    if zipapp_alone:
        wheel.unlink()
        sdist.unlink()
        return files
    check_contents(wheel, sdist, git("ls-files", "-z").split("\0"))
    write_sbom(environment, source, files / "excerpt.cdx.json")
    build_bundle(wheel, source, folder / "bundle", files / f"excerpt-{version}.mcpb")
    return files


def check_out(folder: Path) -> None:
    """Write the files of the newest commit into `folder`, without what else lies in the work tree."""
    run("git", "-C", ROOT, "archive", "--format=tar", f"--output={folder}.tar", "HEAD")
    with tarfile.open(f"{folder}.tar") as archive:
        archive.extractall(folder, filter="data")


def read_version(source: Path) -> str:
    text = (source / "src" / "excerpt" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert match is not None
    return match[1]


def platform_tag() -> str:
    """Return what a zipapp of this Python is for, such as cp311-linux_x86_64."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}-{re.sub('[-.]', '_', sysconfig.get_platform())}"


def install(wheel: Path, environment: Path, constraints: Path) -> Path:
    """Install the wheel in a new environment without pip, and return its folder of packages."""
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--no-compile", "--constraint", constraints, wheel)
    (packages,) = environment.glob("Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages")
    for name in LOCAL_RECORDS:
        for path in packages.glob(f"*.dist-info/{name}"):
            path.unlink()
    return packages


def build_zipapp(packages: Path, target: Path) -> None:
    # Child processes (indexing, reading attachments) import from the archive's unpacked folder by PYTHONPATH.
    options = [
        "--console-script",
        "excerpt",
        "--extend-pythonpath",
        "--reproducible",
        "--python",
        "/usr/bin/env python3",
    ]
    run(sys.executable, "-m", "shiv", "--site-packages", packages, *options, "--output-file", target)


def write_sbom(packages: Path, source: Path, target: Path) -> None:
    """Write which packages, in which versions and under which licences, the wheel was installed with."""
    options = ["--output-reproducible", "--output-format", "JSON", "--pyproject", source / "pyproject.toml"]
    python = next(parent for parent in packages.parents if (parent / "pyvenv.cfg").is_file())
    python /= "Scripts/python.exe" if os.name == "nt" else "bin/python"
    run(sys.executable, "-m", "cyclonedx_py", "environment", *options, "--output-file", target, python)


def build_bundle(wheel: Path, source: Path, folder: Path, target: Path) -> None:
    """Write the bundle for desktop agents: the wheel, and what uv needs to install it beside the MCP SDK."""
    shutil.copytree(source / "tools" / "bundle", folder)
    shutil.copy(wheel, folder)
    shutil.copy(source / "LICENSE", folder)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["version"] = read_version(source)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    pinned = [line for line in (source / "constraints.txt").read_text(encoding="utf-8").splitlines() if "==" in line]
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "excerpt-bundle"\nversion = "{manifest["version"]}"\n'
        'requires-python = ">=3.11,<3.15"\ndependencies = ["excerpt[mcp]"]\n\n'
        f"[tool.uv]\npackage = false\nconstraint-dependencies = {json.dumps(pinned, indent=4)}\n\n"
        f'[tool.uv.sources]\nexcerpt = {{ path = "{wheel.name}" }}\n',
        encoding="utf-8",
    )
    write_zip(folder, target)
    npm = shutil.which("npm")
    if npm is None:
        raise ReleaseError(
            "npm is not installed: its package for bundles checks the bundle. Install Node.js 20 or newer."
        )
    run(npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", BUILD / "npm", MCPB)
    program = BUILD / "npm" / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    run("node", program, "validate", folder / "manifest.json")
    run("node", program, "unpack", target, folder.parent / "unpacked-bundle")


def write_zip(folder: Path, target: Path) -> None:
    """Write the files of `folder`, sorted, all with the same date and rights."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


def check_man_pages(folder: Path) -> None:
    """Raise ReleaseError if the pages in `folder` are not those of the commands."""
    from man_pages import man_pages  # beside this script

    if {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} != man_pages():
        raise ReleaseError("The pages in man/ are not those of the commands. Run make man, and commit what it wrote.")


def check_contents(wheel: Path, sdist: Path, tracked: Sequence[str]) -> None:
    """Raise ReleaseError if wheel or sdist have a file that is not in the repository, lack one, or are too large."""
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = [name for name in archive.namelist() if ".dist-info/" not in name]
    with tarfile.open(sdist) as archive:
        in_sdist = [entry.name.partition("/")[2] for entry in archive.getmembers() if entry.isfile()]
    compare("wheel", in_wheel, [name for path in tracked for name in names_in_wheel(path, wheel.name.split("-")[1])])
    compare("sdist", in_sdist, ["PKG-INFO", *filter(is_in_sdist, tracked)])
    if wheel.stat().st_size > LARGEST_WHEEL:
        raise ReleaseError(f"The wheel has {wheel.stat().st_size:,} bytes, more than {LARGEST_WHEEL:,}.")


def names_in_wheel(path: str, version: str) -> Iterator[str]:
    """Yield the name in the wheel of a file of the repository, if it is to be there."""
    if path.startswith("src/"):
        yield path.removeprefix("src/")
    elif path.startswith("themes/"):
        yield f"excerpt/tui/{path}"
    elif path.startswith("man/"):
        yield f"excerpt-{version}.data/data/share/man/man1/{path.removeprefix('man/')}"


def is_in_sdist(path: str) -> bool:
    folder, _, rest = path.partition("/")
    return folder in ("src", "themes", "man") if rest else path.endswith((".md", ".toml", "LICENSE", ".gitignore"))


def compare(kind: str, found: Sequence[str], expected: Sequence[str]) -> None:
    if differences := sorted({*found} ^ {*expected}):
        listed = "\n".join(f"  {'+' if name in found else '-'} {name}" for name in differences)
        raise ReleaseError(f"The {kind} has other files than the repository (+ too many, - missing):\n{listed}")


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def git(*arguments: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def run(*command: str | Path) -> None:
    print("+", *(str(word).replace(f"{ROOT}{os.sep}", "") for word in command), file=sys.stderr)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{command[0]} exited with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReleaseError as error:
        sys.exit(str(error))
