"""A contact sheet of all pictures taken."""

from collections.abc import Iterable
from pathlib import Path

from django.utils.html import format_html, format_html_join

WINDOWS = [(width, theme) for theme in ("light", "dark") for width in (1440, 768, 390)]


def write_sheet(folder: Path, names: Iterable[str]) -> Path:
    """Write `index.html` into the folder: a row for each page, a picture for each window."""
    rows = [
        (
            name,
            format_html_join(
                "\n",
                '<a href="{0}"><img src="{0}" alt="{1}" loading="lazy" height="320"></a>',
                (
                    (f"{name}-{width}-{theme}.png", f"{width} {theme}")
                    for width, theme in WINDOWS
                    if (folder / f"{name}-{width}-{theme}.png").exists()
                ),
            ),
        )
        for name in names
    ]
    page = format_html(
        "<!doctype html><meta charset=utf-8><title>Pegboard, every page</title>\n{}",
        format_html_join("\n", "<h2>{}</h2>\n{}", rows),
    )
    sheet = folder / "index.html"
    sheet.write_text(page)
    return sheet
