"""A bar for each step of a long piece of work."""

from collections.abc import Callable

from rich.progress import Progress, TaskID


def told_in(bars: Progress) -> Callable[[str, int, int], None]:
    """Takes the name of a step, how much of it is done, and of how much."""
    known: dict[str, TaskID] = {}

    def tell(step: str, done: int, total: int) -> None:
        if step not in known:
            known[step] = bars.add_task(step, total=total)
        bars.update(known[step], completed=done, total=total)

    return tell
