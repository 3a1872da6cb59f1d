"""Limit on pending calls per person."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from acl.actor.chain import CredentialKind
from discovery.calls.call_state import unexpired
from discovery.models import Call


class TooManyWaitingError(Exception):
    """The person has as many pending calls as allowed."""

    def __init__(self, waiting: int, name: str) -> None:
        super().__init__(
            f"{waiting} calls of {name} wait for approval, which is the most. Nothing has been "
            "run. Wait until some are decided, or cancel calls that are not needed any more."
        )


def lock_queue_of(call: Call) -> list[User]:
    """Lock and return the people whose limits apply, until the transaction ends.

    The lock makes concurrent calls count each other. A key acts for many users; only the user's
    limit applies then.
    """
    people = {call.user_id}
    if call.acts_for_other and call.actor_id is not None:
        people.add(call.actor_id)
    locked = User.objects.select_for_update(no_key=True).filter(pk__in=people).order_by("pk")
    return list(locked.only("username"))


def check_queue_limit(call: Call, people: list[User]) -> None:
    """Raise TooManyWaitingError if one of these locked users has reached the limit."""
    for person in people:
        own_calls = Q(user=person)
        if person.pk != call.user_id:
            own_calls = Q(actor=person, credential=CredentialKind.SESSION)
        waiting = Call.objects.filter(own_calls, unexpired(), state=Call.State.WAITING).count()
        if waiting >= settings.PEGBOARD_MAX_WAITING_CALLS:
            raise TooManyWaitingError(waiting, person.username)
