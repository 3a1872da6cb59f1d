"""Tables for spreadsheets: lines of CSV in which no cell is a formula."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

# A cell that begins with one of these is a formula to a spreadsheet, also behind blanks.
FORMULA = ("=", "+", "-", "@", "|", "%")
BLANKS = ("\t", "\r", "\n")


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A line of names, then one for each row."""
    writer = csv.writer(_Line())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([harmless(value) for value in row])


def harmless(value: Any) -> Any:
    """The text, with an apostrophe before what would be a formula; nothing is an empty cell."""
    if not isinstance(value, str):
        return "" if value is None else value
    formula = value.lstrip().startswith(FORMULA) or value.startswith(BLANKS)
    return f"'{value}" if formula else value


class _Line:
    """File-like object for `csv.writer` that returns the line."""

    def write(self, line: str) -> str:
        return line
