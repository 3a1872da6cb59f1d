"""Texts within a number of tokens. Nothing here leaves half a word or half a line."""

from collections.abc import Callable, Sequence

from catalog.tokens import token_counter


def fits(text: str, budget: int) -> bool:
    """Whether the text costs no more than that."""
    return token_counter().count(text) <= budget


def cut(before: str, text: str, after: str, budget: int) -> str:
    """The text on one line between two others, without its last words where it must be shorter.

    Empty where not even that fits: `before` and `after` are never cut.
    """
    words = text.split()
    if fits(whole := f"{before}{' '.join(words)}{after}", budget):
        return whole
    fewest = largest(
        max(len(words) - 1, 0),
        lambda number: fits(f"{before}{_ended(words[:number])}{after}", budget),
    )
    if fewest:
        return f"{before}{_ended(words[:fewest])}{after}"
    bare = f"{before.rstrip(' :')}{after}"
    return bare if fits(bare, budget) else ""


def _ended(words: Sequence[str]) -> str:
    return " ".join(words).rstrip(" ,;:-") + "…"


def largest(most: int, holds: Callable[[int], bool]) -> int | None:
    """The largest number up to `most` for which it holds, where it holds for all below; None where
    it does not even hold for 0."""
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
    """What the text costs in tokens."""
    return token_counter().count(text)
