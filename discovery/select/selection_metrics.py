"""Prometheus metrics of selections."""

from prometheus_client import Counter, Histogram

from discovery.select.selection import Selection

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)

_seconds = Histogram(
    "pegboard_selection_seconds", "Duration of selections, by phase.", ["part"], buckets=_BUCKETS
)
_tools = Histogram(
    "pegboard_selection_tools", "Capabilities selected.", buckets=(0, 1, 2, 3, 5, 8, 10, 15, 25, 50)
)
_degraded = Counter("pegboard_selections_degraded", "Selections that were degraded.")
_saved = Counter("pegboard_selection_tokens_saved", "Estimated tokens that selections saved.")


def observe_selection(selection: Selection) -> None:
    """Record one selection."""
    for part, milliseconds in selection.timings.items():
        _seconds.labels(part).observe(milliseconds / 1000)
    _tools.observe(len(selection.selected))
    _saved.inc(max(0, selection.tokens_all - selection.tokens_selected))
    if selection.degraded:
        _degraded.inc()
