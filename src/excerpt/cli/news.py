"""`excerpt news`: show what is new in the answers to saved queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.hits import INDENT, style_path, style_text
from excerpt.cli.printing import print_json, print_line, print_message
from excerpt.cli.vaults import folders_of_files, load_vault, refresh_option, vault_parameter
from excerpt.text.display import format_source_location, local_time, title_and_headings, visible_line

if TYPE_CHECKING:
    from excerpt import Hit, QueryNews, Vault


@click.command()
@vault_parameter
@click.option("--seen", is_flag=True, help="Mark all passages as seen after printing them.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@refresh_option
def news_command(*, vault: Path | None, seen: bool, as_json: bool, no_refresh: bool) -> int:
    """Show what is new in the answers to the saved queries.

    Lists the new and the changed passages among the first 50 hits of each query. They count from the last time that
    you ran the query in the app or used --seen. Exits with 1 if there is no news.
    """
    with load_vault(vault, refresh=not no_refresh) as opened_vault:
        news = opened_vault.news(seen=seen)
    if as_json:
        print_json({"queries": [each.to_dict() for each in news]})
    elif news:
        for each in news:
            _print_news(each, opened_vault)
    else:
        print_message("There are no saved queries. Save one in the app: Save the query, in the palette.")
    return 0 if any(each.new or each.changed for each in news) else 1


def _print_news(news: QueryNews, vault: Vault) -> None:
    """Print the news of one query: a line with the numbers, then a line for each passage."""
    if news.since is None:
        text = "counted from now on"
    else:
        text = f"{news.count_text or 'nothing new'} since {local_time(news.since)}"
    print_line(f"{style_text(visible_line(news.name), bold=True)}: {text}")
    for label, hits in (("new", news.new), ("changed", news.changed)):
        for hit in hits:
            print_line(f"{INDENT}{label:<7}  {_format_location_and_headings(hit, vault)}")


def _format_location_and_headings(hit: Hit, vault: Vault) -> str:
    """Return where a hit is, and its title and headings."""
    fragment = hit.fragment
    name = visible_line(title_and_headings(fragment.title, fragment.heading_path))
    lines = format_source_location(fragment.path, fragment.line_start, fragment.line_end, fragment.place)
    return f"{style_path(lines, fragment.path, folders_of_files(vault))}  {name}"
