"""A recognised API key: the power that its request may use."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from acl.models import ApiKey
from acl.models.rank import Rank

_ADMINISTER = frozenset({ApiKey.Scope.ADMIN, ApiKey.Scope.SCIM})


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The sender of a valid key. DRF takes it for the request's user.

    `group_ids` are the groups that the key covers at this moment; None covers every group.
    `rank` is the most that both the key and its owner have, now.
    """

    key_id: int
    name: str
    prefix: str
    owner_id: int | None
    acts_for_users: bool
    scopes: frozenset[str]
    group_ids: frozenset[int] | None
    all_groups: bool = False
    rank: Rank = Rank.MEMBER
    expires_at: datetime | None = None
    is_connection: bool = False  # of a client that a person connected by OAuth
    is_authenticated: bool = True
    is_active: bool = True
    is_staff: bool = False
    is_anonymous: bool = False

    def covers(self, group_id: int) -> bool:
        """Return True if the key works in this group."""
        return self.group_ids is None or group_id in self.group_ids

    @property
    def is_of_the_installation(self) -> bool:
        """Return True for an admin's key for all groups. It administers the whole installation;
        any other key administers its own groups, whoever owns it."""
        return (
            self.all_groups and self.rank >= Rank.STAFF and not _ADMINISTER.isdisjoint(self.scopes)
        )

    def knows_of(self, group_id: int) -> bool:
        """Return True if the key may know of this group."""
        return self.is_of_the_installation or self.covers(group_id)

    def administered(self, field: str = "group") -> Q:
        """Limit rows to what the key administers; `field` leads to the group of a row."""
        return Q() if self.is_of_the_installation else self.in_groups(field)

    def in_groups(self, field: str = "group") -> Q:
        """Limit rows to the key's groups; `field` leads to the group of a row."""
        return Q() if self.group_ids is None else Q(**{f"{field}__in": self.group_ids})
