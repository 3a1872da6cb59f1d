"""A reliability diagram as SVG: how often the best candidate is right, by its relevance.

    python -m lab.bench.reliability > docs/images/reliability.svg

From the figures in the shipped model's provenance: each labelled set was held out of a training,
with a scale of its own.
"""

import sys
from collections.abc import Iterator
from html import escape
from typing import Any

from catalog.embedding.shipped_model import read_provenance

SIDE, MARGIN, BESIDE = 360, 48, 190
COLOURS = ("#b45309", "#0e7490", "#7c3aed", "#15803d", "#be123c", "#475569")
# Tenths with fewer messages are too noisy.
FEWEST = 10


def main() -> None:
    """Write the diagram to the standard output."""
    sys.stdout.write(picture(read_provenance()["reliability"]))


def picture(tenths: list[dict[str, Any]]) -> str:
    """Draw a point for each tenth of each set, sized by its messages; the diagonal is perfect."""
    width, height = MARGIN + SIDE + BESIDE, 2 * MARGIN + SIDE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13" fill="#334155">',
        "<title>How often the best candidate is right, over its relevance</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_axes(),
    ]
    names = list(dict.fromkeys(each["left out"] for each in tenths))
    for place, name in enumerate(names):
        own = [each for each in tenths if each["left out"] == name and each["messages"] >= FEWEST]
        parts += _curve(own, COLOURS[place % len(COLOURS)])
        parts += _legend(name, sum(each["messages"] for each in own), place)
    return "\n".join([*parts, "</svg>", ""])


def _axes() -> Iterator[str]:
    ends = f'x1="{_x(0)}" y1="{_y(0)}" x2="{_x(1)}" y2="{_y(1)}"'
    yield f'<line {ends} stroke="#94a3b8" stroke-dasharray="5 4"/>'
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        yield (
            f'<path d="M{_x(tick)} {_y(0)}V{_y(1)}M{_x(0)} {_y(tick)}H{_x(1)}" stroke="#e2e8f0"/>'
            f'<text x="{_x(tick)}" y="{_y(0) + 18}" text-anchor="middle">{tick:.1f}</text>'
            f'<text x="{_x(0) - 8}" y="{_y(tick) + 4}" text-anchor="end">{tick:.1f}</text>'
        )
    yield f'<text x="{_x(0.5)}" y="{_y(0) + 38}" text-anchor="middle">said: its relevance</text>'
    yield f'<text x="{_x(0)}" y="{_y(1) - 12}">how often it is right</text>'


def _curve(own: list[dict[str, Any]], colour: str) -> Iterator[str]:
    places = [(_x(each["said"]), _y(each["right"])) for each in own]
    line = " ".join(f"{x},{y}" for x, y in places)
    yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
    for each, (x, y) in zip(own, places, strict=True):
        radius = 2 + min(6.0, each["messages"] ** 0.5 / 4)
        yield f'<circle cx="{x}" cy="{y}" r="{radius:.1f}" fill="{colour}"/>'


def _legend(name: str, messages: int, place: int) -> Iterator[str]:
    x, y = _x(1) + 24, _y(1) + 16 + 24 * place
    yield f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{COLOURS[place % len(COLOURS)]}"/>'
    yield f'<text x="{x + 12}" y="{y}">{escape(name)} ({messages:,})</text>'


def _x(share: float) -> float:
    return round(MARGIN + share * SIDE, 1)


def _y(share: float) -> float:
    return round(MARGIN + (1 - share) * SIDE, 1)


if __name__ == "__main__":
    main()
