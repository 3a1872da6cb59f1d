"""Texts within a number of tokens. Nothing here leaves half a word or half a line."""

from collections.abc import Sequence

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
    fewest, most = 0, len(words)
    while most - fewest > 1:
        middle = (fewest + most) // 2
        if fits(f"{before}{_ended(words[:middle])}{after}", budget):
            fewest = middle
        else:
            most = middle
    if fewest:
        return f"{before}{_ended(words[:fewest])}{after}"
    bare = f"{before.rstrip(' :')}{after}"
    return bare if fits(bare, budget) else ""


def _ended(words: Sequence[str]) -> str:
    return " ".join(words).rstrip(" ,;:-") + "…"
