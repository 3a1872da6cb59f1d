"""Texts cut to a token budget, never within a word or line."""

from collections.abc import Callable, Sequence

from catalog.token_counter import token_counter


def fits(text: str, budget: int) -> bool:
    """Return True if the text costs at most `budget` tokens."""
    return token_counter().count(text) <= budget


def cut(before: str, text: str, after: str, budget: int) -> str:
    """Return the text on one line between two others, dropping its last words if needed.

    `before` and `after` are never cut; "" if not even they fit.
    """
    words = text.split()
    if fits(whole := f"{before}{' '.join(words)}{after}", budget):
        return whole
    word_count = largest(
        max(len(words) - 1, 0),
        lambda number: fits(f"{before}{_with_ellipsis(words[:number])}{after}", budget),
    )
    if word_count:
        return f"{before}{_with_ellipsis(words[:word_count])}{after}"
    bare = f"{before.rstrip(' :')}{after}"
    return bare if fits(bare, budget) else ""


def _with_ellipsis(words: Sequence[str]) -> str:
    return " ".join(words).rstrip(" ,;:-") + "…"


def largest(most: int, holds: Callable[[int], bool]) -> int | None:
    """Return the largest number up to `most` for which `holds` is true; None if it is false for 0.

    `holds` must be monotonic: true for all smaller numbers, too.
    """
    if holds(most):
        return most
    if most == 0 or not holds(0):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def cost(text: str) -> int:
    """Count the text's tokens."""
    return token_counter().count(text)
