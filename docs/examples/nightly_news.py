"""Print what is new for the queries saved in the app, as Markdown for a mail: `python nightly_news.py ~/notes`.

Run by cron, it prints only what is new since the last run.
"""

from __future__ import annotations

import sys

import excerpt


def report(folder: str) -> str:
    """Return the news as Markdown, "" if there are none; they are no news the next time."""
    with excerpt.open(folder) as vault:
        news = vault.news(seen=True)
    lines: list[str] = []
    for each in news:
        if each.count_text:
            lines += [f"## {each.name}: {each.count_text}", ""]
            lines += [f"- {hit.title} ({hit.path}:{hit.line_start})" for hit in (*each.new, *each.changed)]
            lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(report(sys.argv[1]), end="")
