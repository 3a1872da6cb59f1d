"""Who a question is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A user in a group, and perhaps in one of its spaces; without a space it is the group's
    root space."""

    user_id: int
    group_id: int
    space_id: int | None = None
