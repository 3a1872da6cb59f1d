"""How a call differs from the last approved call of the same tool in the same group."""

from dataclasses import dataclass
from typing import Literal

from django.db.models import Q

from acl.visible_text.json_text import Argument, Rendering
from discovery.calls.argument_text import render_call
from discovery.models import Call

Change = Literal["", "equal", "changed", "new", "gone"]
_BADGES: dict[Change, tuple[str, str]] = {
    "": ("", ""),
    "equal": ("same as before", "quiet"),
    "changed": ("changed", "caution"),
    "new": ("new", "caution"),
    "gone": ("no longer sent", "caution"),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One argument on both sides; None on the side that does not have it."""

    change: Change
    before: Argument | None
    after: Argument | None

    @property
    def shown(self) -> Argument:
        """The side that there is; of two, the later."""
        argument = self.after or self.before
        assert argument is not None  # noqa: S101 - one side there always is
        return argument

    @property
    def word(self) -> str:
        """The change, for readers; empty where there is nothing to compare with."""
        return _BADGES[self.change][0]

    @property
    def tone(self) -> str:
        """The badge's class."""
        return _BADGES[self.change][1]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The earlier call, which only those may see who decide about this one, and what changed."""

    earlier: Call
    differences: tuple[Difference, ...]

    @property
    def is_equal(self) -> bool:
        """True if the very same arguments were approved."""
        return all(one.change == "equal" for one in self.differences)


def compare_with_last_approved(call: Call) -> Comparison | None:
    """Compare with the call that was approved last before this one was asked for; None where
    there is none. For those who may decide about both."""
    earlier = find_last_approved(call)
    if earlier is None:
        return None
    before, after = render_call(earlier), render_call(call)
    if before.problem or after.problem:
        return None
    return Comparison(earlier, compare(before, after))


def find_last_approved(call: Call) -> Call | None:
    """The last approved call of the same tool in the same group."""
    approved = Call.objects.filter(
        full_name=call.full_name, group_id=call.group_id, needs_approval=True
    ).exclude(Q(pk=call.pk) | Q(approved_digest="") | Q(decided_at=None))
    if call.decided_at is not None:
        approved = approved.filter(decided_at__lt=call.decided_at)
    rows = approved.select_related("user", "decided_by", "capability")
    return rows.order_by("-decided_at", "pk").first()


def uncompared(rendering: Rendering) -> tuple[Difference, ...]:
    """The arguments alone, for who may not see the earlier call, or where there is none."""
    return tuple(Difference("", None, argument) for argument in rendering.arguments)


def compare(before: Rendering, after: Rendering) -> tuple[Difference, ...]:
    """Compare argument by argument: those of the later call in its order, then those gone."""
    old = {one.key: one for one in before.arguments}
    new = {one.key: one for one in after.arguments}
    found = [_difference(old.get(key), argument) for key, argument in new.items()]
    gone = [Difference("gone", one, None) for key, one in old.items() if key not in new]
    return (*found, *gone)


def _difference(before: Argument | None, after: Argument) -> Difference:
    if before is None:
        return Difference("new", None, after)
    equal = before.source == after.source
    return Difference("equal" if equal else "changed", before, after)
