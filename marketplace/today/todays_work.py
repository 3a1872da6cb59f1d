"""The work of a person today. The number of statements does not depend on the rows."""

from dataclasses import dataclass, field

from django.contrib.auth.models import User

from acl.models import AccessRequest
from acl.rights.caller import Caller
from marketplace.today.ending_keys import list_ending_keys
from marketplace.today.open_alerts import list_alerts
from marketplace.today.pending_calls import PendingCalls, list_own_pending, list_to_decide
from marketplace.today.pending_definitions import list_reviews
from marketplace.today.pending_updates import list_updates
from marketplace.today.section import Section
from marketplace.today.waiting_work import (
    OpenRequests,
    missing_connections,
    open_requests,
    own_requests,
    troubled_integrations,
)


@dataclass(frozen=True, slots=True)
class TodaysWork:
    """Rows that wait for a person. The first seven are empty for anyone but admins."""

    calls: PendingCalls = field(default_factory=PendingCalls)
    requests: OpenRequests = field(default_factory=OpenRequests)
    trouble: Section = field(default_factory=Section)
    reviews: Section = field(default_factory=Section)
    updates: Section = field(default_factory=Section)
    alerts: Section = field(default_factory=Section)
    keys: Section = field(default_factory=Section)
    connections: Section = field(default_factory=Section)
    own_calls: PendingCalls = field(default_factory=PendingCalls)
    own_requests: tuple[AccessRequest, ...] = ()

    @property
    def count(self) -> int:
        """Return how many things wait for the person. What they wait for themselves is not one."""
        parts = (
            self.calls, self.requests, self.trouble, self.reviews, self.updates, self.alerts,
            self.keys, self.connections,
        )  # fmt: skip
        return sum(part.count for part in parts)

    @property
    def is_empty(self) -> bool:
        """Return True if there is nothing to show."""
        return not (self.count or self.own_calls.count or self.own_requests)


def list_todays_work(*, person: User, caller: Caller | None) -> TodaysWork:
    """Return what waits for this person; `caller` is the person in all their groups."""
    own = {
        "keys": list_ending_keys(person),
        "connections": missing_connections(person, caller),
        "own_calls": list_own_pending(person),
        "own_requests": own_requests(person),
    }
    if not person.is_staff:
        return TodaysWork(**own)  # type: ignore[arg-type]
    return TodaysWork(
        calls=list_to_decide(person),
        requests=open_requests(),
        trouble=troubled_integrations(),
        reviews=list_reviews(),
        updates=list_updates(),
        alerts=list_alerts(),
        **own,  # type: ignore[arg-type]
    )
