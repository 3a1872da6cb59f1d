"""Progress bars, one for each step of a long operation."""

from collections.abc import Callable

from rich.progress import Progress, TaskID


def show_progress(bars: Progress) -> Callable[[str, int, int], None]:
    """Return a callback that shows a step's progress: its name, done, and total."""
    tasks: dict[str, TaskID] = {}

    def update(step: str, done: int, total: int) -> None:
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=total)
        bars.update(tasks[step], completed=done, total=total)

    return update
