"""Callers of a question."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A user in a group, and perhaps in one of its spaces; without a space it is the group's
    root space.

    With `other_groups` the user asks as a member of all these groups together: each answers for
    itself, and the answers are united (docs/access.md). `group_id` is the group of the space, or
    the first; what is recorded of the question is recorded there.
    """

    user_id: int
    group_id: int
    space_id: int | None = None
    other_groups: tuple[int, ...] = ()

    @property
    def group_ids(self) -> tuple[int, ...]:
        """Ids of all groups in which the question is asked."""
        return (self.group_id, *self.other_groups)

    @property
    def is_united(self) -> bool:
        """True if several groups answer together."""
        return bool(self.other_groups)
