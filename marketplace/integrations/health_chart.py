"""Bar chart of a server's health checks: pure geometry."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.models import HealthCheck

WIDTH, HEIGHT = 480, 56
_GAP = 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar for one check, oldest on the left. `told` is its tooltip."""

    x: float
    y: float
    width: float
    height: float
    well: bool
    told: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The bars, the number of passed checks, and the longest duration in milliseconds."""

    bars: tuple[Bar, ...]
    well: int
    longest: int

    @property
    def count(self) -> int:
        """Number of checks."""
        return len(self.bars)


def chart_of(checks: Sequence[HealthCheck]) -> Chart:
    """Build the chart from checks, newest first. Failures have the full height."""
    longest = max((check.milliseconds or 0 for check in checks if not check.reason), default=0)
    step = WIDTH / max(len(checks), 24)
    bars = []
    for number, check in enumerate(reversed(checks)):
        height = HEIGHT if check.reason else _height(check.milliseconds or 0, longest)
        bars.append(
            Bar(
                x=round(number * step, 1),
                y=round(HEIGHT - height, 1),
                width=round(step - _GAP, 1),
                height=round(height, 1),
                well=not check.reason,
                told=_told(check),
            )
        )
    return Chart(tuple(bars), sum(bar.well for bar in bars), longest)


def _height(milliseconds: int, longest: int) -> float:
    return max(4.0, 0.8 * HEIGHT * milliseconds / longest) if longest else 4.0


def _told(check: HealthCheck) -> str:
    when = f"{check.checked_at:%-d %b, %H:%M}"
    if check.reason:
        return f"{when}: {check.reason.replace('_', ' ')}"
    return f"{when}: well" + (f", {check.milliseconds:,} ms" if check.milliseconds else "")
