"""`excerpt check`: verify the citations and quotations of an LLM's answer."""

from __future__ import annotations

from pathlib import Path

import click

from excerpt.cli.printing import print_json, print_message, read_input
from excerpt.cli.vaults import load_vault, refresh_option, vaults_option

_MAX_INPUT_BYTES = 4 * 1024 * 1024  # of an answer or a pack: a larger file is neither


@click.command()
@click.argument("answer", type=click.Path(path_type=Path))
@click.option(
    "--pack",
    "pack_file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PACK",
    help="The pack that the LLM was given, as `excerpt pack` wrote it.",
)
@vaults_option
@click.option("--uncited", is_flag=True, help="List the sentences without a citation or quotation.")
@click.option("--strict", is_flag=True, help="Exit with 3 if a text that may be a quotation could not be checked.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def check_command(
    *,
    answer: Path,
    pack_file: Path,
    vaults: tuple[Path, ...],
    uncited: bool,
    strict: bool,
    as_json: bool,
    no_refresh: bool,
) -> int:
    """Check the citations and quotations of ANSWER, a file with an LLM's answer (- is stdin).

    For each citation [n], reports whether the pack has this source and whether its lines are still in the vault. For
    each quotation, reports whether the cited source has the text. For each other sentence with a citation, reports
    whether its names, numbers and rare words are found in the source. Also lists text that may be a quotation but could
    not be checked, such as text after an unclosed quotation mark. Exits with 1 if a citation or a quotation is wrong,
    or if the words of a sentence are not found.
    """
    if str(answer) == str(pack_file) == "-":
        raise click.UsageError("ANSWER and PACK cannot both come from stdin.")
    answer_text, pack_text = (
        read_input(answer, "answer", _MAX_INPUT_BYTES),
        read_input(pack_file, "pack", _MAX_INPUT_BYTES),
    )
    with load_vault(vaults, refresh=not no_refresh) as opened_vault:
        check = opened_vault.check(answer_text, pack_text)

    from excerpt.cli.checked import print_check, summarize_check

    if as_json:
        print_json(check.to_dict())
    else:
        print_check(check, uncited=uncited)
    print_message(summarize_check(check))
    if not check.holds:
        return 1
    return 3 if strict and check.unchecked else 0
