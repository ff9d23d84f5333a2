"""`excerpt push`: write a vault to a store, for a team."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from excerpt.base.settings import load_vault_settings, user_paths
from excerpt.cli.printing import ProgressLine, conflict_sentence, print_json, print_line, print_message
from excerpt.cli.vaults import build_index, resolve_vault, vault_parameter
from excerpt.text.display import format_count, visible_line
from excerpt_postgres.read_rights import ReadRight, RightsChanges, parse_right


class _RightParameter(click.ParamType[ReadRight]):
    """The command-line type of a right, written ROLE=FOLDER."""

    name = "right"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ReadRight:
        """Parse a right; raises a usage error if the value is not of the form ROLE=FOLDER."""
        try:
            return value if isinstance(value, ReadRight) else parse_right(value)
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


@click.command()
@vault_parameter
@click.option(
    "--to",
    "address",
    required=True,
    metavar="ADDRESS",
    help="The address of the store, without a password: postgresql://user@host/database?vault=NAME.",
)
@click.option(
    "--roles",
    is_flag=True,
    help="Create the roles excerpt_writer, excerpt_reader and excerpt_memories in the store's database.",
)
@click.option(
    "--allow",
    "allowed",
    type=_RightParameter(),
    multiple=True,
    metavar="ROLE=FOLDER",
    help="Let only allowed roles read FOLDER. Without a FOLDER, the right is for the rest of the vault.",
)
@click.option(
    "--forbid",
    "forbidden",
    type=_RightParameter(),
    multiple=True,
    metavar="ROLE=FOLDER",
    help="Revoke a right that --allow gave.",
)
@click.option("--merge", is_flag=True, help="Keep the notes that others changed in the store, and push the rest.")
@click.option(
    "--mirror",
    is_flag=True,
    help="Make the store equal to this copy of the vault. Overwrite the notes that others changed.",
)
@click.option(
    "--overwrite",
    multiple=True,
    metavar="NOTE",
    help="Overwrite NOTE in the store with your local version, even if others changed it there.",
)
@click.option(
    "--accept-removals", is_flag=True, help="Allow a push that removes more than a fifth of the notes in the store."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def push_command(
    vault: Path | None,
    *,
    address: str,
    roles: bool,
    allowed: tuple[ReadRight, ...],
    forbidden: tuple[ReadRight, ...],
    merge: bool,
    mirror: bool,
    overwrite: tuple[str, ...],
    accept_removals: bool,
    as_json: bool,
) -> int:
    """Write VAULT to a PostgreSQL store, or bring the store up to date.

    Updates the index first, then writes changed notes one by one and deletes the deleted ones. After an interruption,
    the next push continues. Readers use the same ADDRESS as their vault.

    A push is refused, and writes nothing, if others have changed the store since the last push from this copy, or
    if it would remove more than a fifth of the notes. It then lists the notes and the options that allow the push.
    """
    from excerpt_postgres.address import parse_address
    from excerpt_postgres.compare import PushRules
    from excerpt_postgres.push_vault import push_vault

    if merge and mirror:
        raise click.UsageError("--merge keeps the notes that others changed, --mirror overwrites them. Use only one.")
    rules = PushRules(merge, mirror, accept_removals, frozenset(overwrite))
    store_address = parse_address(address)
    paths = user_paths()
    chosen = resolve_vault(vault)
    settings = load_vault_settings(chosen, paths)
    build_index(chosen, settings, paths)
    report = push_vault(
        chosen,
        settings,
        paths,
        store_address,
        ProgressLine(sys.stderr),
        roles=roles,
        rights=RightsChanges(allowed, forbidden) if allowed or forbidden else None,
        rules=rules,
    )
    if as_json:
        print_json(report)
    else:
        notes = report.added + report.changed + report.unchanged + report.kept
        kept_note = f", {report.kept:,} changed by others and kept" if report.kept else ""
        print_line(
            f"{format_count(notes, 'note')}, {format_count(report.fragments, 'fragment')} in "
            f"{store_address.display_text}: {report.added:,} added,"
            f" {report.changed:,} changed, {report.removed:,} removed"
            f"{kept_note} in {report.seconds:.1f} s"
        )
        if allowed or forbidden:
            for right in report.rights:
                print_line(
                    f"{visible_line(right.folder) or 'the rest'} ({format_count(right.notes, 'note')}):"
                    f" {', '.join(map(visible_line, right.roles)) or 'writers alone'}"
                )
    if report.conflicts:
        print_message(conflict_sentence(report.conflicts))
        return 3
    return 0
