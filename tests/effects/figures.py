"""Figures of the classifier on the labelled tools: `python -m tests.effects.figures`."""

import sys
from collections import Counter

from catalog.effects.assessment import FLAGS
from catalog.effects.classifier import assess
from tests.effects.labelled import EFFECTS as EFFECT_OF
from tests.effects.labelled import definitions, is_tuned, labels
from tests.effects.sample import fresh_rows

EFFECTS = ("read", "write", "delete", "unknown")


def confusion(*, tuned: bool, earlier: bool = False) -> Counter[tuple[str, str]]:
    """Count tools by labelled and called effect; `earlier` calls them as earlier releases did."""
    found = definitions()
    counts: Counter[tuple[str, str]] = Counter()
    for label in labels():
        one = found[label.source, label.identifier]
        if is_tuned(label.source, one) == tuned:
            counts[label.effect, one.side_effect if earlier else assess(one).effect] += 1
    return counts


def fresh_confusion(*rounds: str) -> Counter[tuple[str, str]]:
    """Count the tools that were labelled after the rules were frozen, like `confusion`."""
    return Counter(
        (EFFECT_OF[row["effect"]], assess(definitions()[row["source"], row["id"]]).effect)
        for row in fresh_rows()
        if not rounds or row["round"] in rounds
    )


def flag_hits() -> Counter[tuple[str, bool, bool]]:
    """Count tools by flag, by whether it is labelled so, and by whether it is called so."""
    hits: Counter[tuple[str, bool, bool]] = Counter()
    for label in labels():
        called = assess(definitions()[label.source, label.identifier]).flag_names
        for flag in FLAGS:
            hits[flag, flag in label.flags, flag in called] += 1
    return hits


def _write(counts: Counter[tuple[str, str]], title: str) -> None:
    sys.stdout.write(f"\n{title}\n| labelled | {' | '.join(EFFECTS)} |\n")
    for effect in EFFECTS[:3]:
        cells = " | ".join(str(counts[effect, called]) for called in EFFECTS)
        sys.stdout.write(f"| {effect} | {cells} |\n")


if __name__ == "__main__":
    for is_earlier in (True, False):
        for is_half in (True, False):
            title = (
                f"{'before' if is_earlier else 'now'}, {'tuned' if is_half else 'reported'} half"
            )
            _write(confusion(tuned=is_half, earlier=is_earlier), title)
    _write(fresh_confusion("1", "2"), "now, labelled afterwards, rounds 1 and 2")
    _write(fresh_confusion("3"), "now, labelled afterwards, round 3")
    _write(fresh_confusion("4", "5"), "now, labelled afterwards, rounds 4 and 5")
    for key, count in sorted(flag_hits().items()):
        sys.stdout.write(f"{key}: {count}\n")
