"""Places in the approval queue: a bounded number of calls waits for each person."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from acl.actor.chain import CredentialKind
from discovery.calls.call_state import unexpired
from discovery.models import Call


class TooManyWaitingError(Exception):
    """As many calls wait as may."""

    def __init__(self, waiting: int, name: str) -> None:
        super().__init__(
            f"{waiting} calls of {name} wait for approval, which is the most. Nothing has been "
            "run. Wait until some are decided, or cancel calls that are not needed any more."
        )


def lock_queue_of(call: Call) -> list[User]:
    """Lock and return the people whose places the call may take, until the transaction ends.

    Of many calls at once, each counts those before it. Programs with a key act for many users; only
    their users' places count.
    """
    people = {call.user_id}
    if call.acts_for_other and call.actor_id is not None:
        people.add(call.actor_id)
    locked = User.objects.select_for_update(no_key=True).filter(pk__in=people).order_by("pk")
    return list(locked.only("username"))


def check_places(call: Call, people: list[User]) -> None:
    """Raise TooManyWaitingError where one of these people, whose rows are locked, has no place."""
    for person in people:
        theirs = Q(user=person)
        if person.pk != call.user_id:
            theirs = Q(actor=person, credential=CredentialKind.SESSION)
        waiting = Call.objects.filter(theirs, unexpired(), state=Call.State.WAITING).count()
        if waiting >= settings.PEGBOARD_MAX_WAITING_CALLS:
            raise TooManyWaitingError(waiting, person.username)
