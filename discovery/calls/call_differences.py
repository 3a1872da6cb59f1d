"""Comparison of a call with the last approved call of the same tool in the same group."""

from dataclasses import dataclass
from typing import Literal

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from acl.visible_text.json_text import Argument, Rendering
from discovery.calls.call_arguments import render_call
from discovery.models import Call

Change = Literal["", "equal", "changed", "new", "gone"]
_BADGES: dict[Change, tuple[str, str]] = {
    "": ("", ""),
    "equal": (gettext_noop("unchanged"), "quiet"),
    "changed": (gettext_noop("changed"), "caution"),
    "new": (gettext_noop("new"), "caution"),
    "gone": (gettext_noop("removed"), "caution"),
}


@dataclass(frozen=True, slots=True)
class ArgumentDifference:
    """An argument before and after; None if it is missing on a side."""

    change: Change
    before: Argument | None
    after: Argument | None

    @property
    def shown(self) -> Argument:
        """Return the later side, or the only one."""
        argument = self.after or self.before
        assert argument is not None  # noqa: S101 - one side there always is
        return argument

    @property
    def word(self) -> str:
        """Return the label of the change, or "" if there is nothing to compare with."""
        label = _BADGES[self.change][0]
        return _(label) if label else ""

    @property
    def tone(self) -> str:
        """Return the badge's CSS class."""
        return _BADGES[self.change][1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The earlier call and the differences. Only for people who may decide about this call."""

    earlier: Call
    differences: tuple[ArgumentDifference, ...]

    @property
    def is_equal(self) -> bool:
        """Return True if exactly the same arguments were approved."""
        return all(one.change == "equal" for one in self.differences)


def compare_with_last_approved(call: Call) -> Comparison | None:
    """Compare with the last call that was approved before this one; None if there is none.

    Callers must have checked that the viewer may decide about both.
    """
    earlier = find_last_approved(call)
    if earlier is None:
        return None
    before, after = render_call(earlier), render_call(call)
    if before.problem or after.problem:
        return None
    return Comparison(earlier, compare(before, after))


def find_last_approved(call: Call) -> Call | None:
    """Return the last approved call of the same tool in the same group."""
    approved = Call.objects.filter(
        full_name=call.full_name, group_id=call.group_id, needs_approval=True, content=0
    ).exclude(Q(pk=call.pk) | Q(approved_digest="") | Q(decided_at=None))
    if call.decided_at is not None:
        approved = approved.filter(decided_at__lt=call.decided_at)
    rows = approved.select_related("user", "decided_by", "capability")
    return rows.order_by("-decided_at", "pk").first()


def list_uncompared(rendering: Rendering) -> tuple[ArgumentDifference, ...]:
    """Return the arguments without a comparison."""
    return tuple(ArgumentDifference("", None, argument) for argument in rendering.arguments)


def compare(before: Rendering, after: Rendering) -> tuple[ArgumentDifference, ...]:
    """Compare by argument, in the order of the later call; removed arguments come last."""
    old = {one.key: one for one in before.arguments}
    new = {one.key: one for one in after.arguments}
    compared = [_difference(old.get(key), argument) for key, argument in new.items()]
    gone = [ArgumentDifference("gone", one, None) for key, one in old.items() if key not in new]
    return (*compared, *gone)


def _difference(before: Argument | None, after: Argument) -> ArgumentDifference:
    if before is None:
        return ArgumentDifference("new", None, after)
    equal = before.source == after.source
    return ArgumentDifference("equal" if equal else "changed", before, after)
