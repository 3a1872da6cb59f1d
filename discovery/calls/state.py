"""Call states, their transitions, and the reasons for which calls fail or leave the queue.

Transitions compare and set, so stale workers change nothing.
"""

from functools import cache, partial
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop
from redis import Redis

from acl.platform import jobs
from acl.platform.database_connections import rows_of
from acl.platform.redis_circuit import attempt
from acl.platform.strict_json import write_json
from catalog.servers.client.server_problems import label_problem
from discovery.calls.channel import notify_waiters
from discovery.models import Call

NOT_THERE = "not_there"  # unknown tool or someone else's: indistinguishable on purpose
CHANGED = "changed"
TOOL_ERROR = "tool_error"
DISCONNECTED = "disconnected"
NOT_BEGUN = "not_begun"
FLOW_REFUSED = "flow_refused"
NOBODY_EXECUTES = "nobody_executes"
STOPPED_BY_CLIENT = "stopped_by_client"
# Reasons for leaving the approval queue (`discovery/calls/approval_queue.py`), with their texts.
LEFT_QUEUE = {
    "user_deactivated": gettext_noop("The account of the user of this call is deactivated."),
    "left_group": gettext_noop("The user of this call has left the group."),
    "actor_deactivated": gettext_noop("The account of the requester is deactivated."),
    "acting_right_lost": gettext_noop("The requester may no longer act for other people."),
    "key_revoked": gettext_noop(
        "The key that made this call has ended, or its owner may no longer use it."
    ),
    "changed": gettext_noop("The tool has changed since the call was requested."),
    "right_lost": gettext_noop("The user of this call may no longer use the tool."),
}
UNKNOWN_OUTCOME = gettext_noop(
    "It is unknown whether the call was carried out. It is not repeated: check before you try "
    "again."
)


QUEUE = "pegboard:calls"
# A queued call that no worker has taken after this time expires: nobody waits for it any more.
BEGIN_WITHIN_SECONDS = 600


def queue(call: Call) -> None:
    """Insert a call that is ready for a worker; IntegrityError if its idempotency key is taken.

    Raw SQL: building this statement costs the ORM more than all others of a call together.
    """
    fields = Call._meta.concrete_fields
    values = {
        field.attname: field.get_db_prep_save(getattr(call, field.attname), connection)
        for field in fields
        if field.attname not in _BY_THE_DATABASE
    }
    [row] = rows_of(_insert(), {**values, "within": BEGIN_WITHIN_SECONDS})
    call.created_at, call.sent_at, call.expires_at = row
    call._state.adding = False


_BY_THE_DATABASE = ("created_at", "sent_at", "expires_at")


@cache
def _insert() -> str:
    columns = [field.attname for field in Call._meta.concrete_fields]
    names = [name for name in columns if name not in _BY_THE_DATABASE]
    return f"""
INSERT INTO discovery_call ({", ".join(names)}, expires_at)
VALUES ({", ".join(f"%({name})s" for name in names)},
  statement_timestamp() + make_interval(secs => %(within)s::float8))
RETURNING {", ".join(_BY_THE_DATABASE)}
"""  # noqa: S608 - the names of our own columns


def move(call: Call, to: Call.State, *only_if: Q, **values: Any) -> bool:
    """Change the state if it is still the one the caller read; return False otherwise."""
    if to in Call.ENDED:
        values["ended_at"] = Now()
    if not jobs.move(call, to, *only_if, unchanged=("state", "attempts"), **values):
        return False
    if to in Call.ENDED:
        _notify_on_commit(call)
    return True


def end_call(
    call: Call, to: Call.State, *, reason: str = "", message: str = "", result_json: str = ""
) -> bool:
    """End a running call like `move`, with a prepared statement, since every call needs it.

    Its questions are stored with it.
    """
    values_set = {"to": to, "reason": reason, "message": message, "result": result_json}
    values_set["questions"] = write_json(call.questions or [])
    condition = {"pk": call.pk, "state": call.state, "attempts": call.attempts}
    if not rows_of(_END, {**values_set, **condition}):
        return False
    call.state = to
    _notify_on_commit(call)
    return True


_END = """
UPDATE discovery_call SET state = %(to)s::text, ended_at = statement_timestamp(),
  reason = %(reason)s::text, message = %(message)s::text, result_json = %(result)s::text,
  tokens_result = (length(%(result)s::text) + 3) / 4,
  dialogue = NULL, questions = %(questions)s::text::jsonb
WHERE id = %(pk)s::uuid AND state = %(state)s::text AND attempts = %(attempts)s::int
RETURNING id
"""


def _notify_on_commit(call: Call) -> None:
    transaction.on_commit(partial(notify_waiters, call.pk), robust=True)


def unexpired() -> Q:
    """Match calls that may still begin, by the database's clock."""
    return Q(expires_at__isnull=True) | Q(expires_at__gt=Now())


def send_on_commit(call: Call) -> None:
    """Send the call to the worker once the row is committed."""
    transaction.on_commit(partial(send_call, str(call.pk)), robust=True)


def send_call(pk: str) -> None:
    """Push the call's id to the queue; if Redis is down, the sweeper sends it later."""

    def push(redis: Redis) -> None:
        pipeline = redis.pipeline(transaction=False)
        pipeline.rpush(QUEUE, pk)
        pipeline.expire(QUEUE, BEGIN_WITHIN_SECONDS)
        pipeline.execute()

    attempt(push, default=None)


# Short labels of the reason codes of calls, for pages.

# What no server causes; `label_problem` has the others.
LABELS = {
    NOT_THERE: gettext_noop("Unavailable tool"),
    TOOL_ERROR: gettext_noop("Error of the tool"),
    DISCONNECTED: gettext_noop("Not connected"),
    NOT_BEGUN: gettext_noop("Expired"),
    jobs.GAVE_UP: gettext_noop("Crashed the worker"),
    FLOW_REFUSED: gettext_noop("Refused by the data-flow guard"),
    NOBODY_EXECUTES: gettext_noop("Only described"),
    STOPPED_BY_CLIENT: gettext_noop("Cancelled by the client"),
    "needs_approval": gettext_noop("Approval needed"),
    "secret_unavailable": gettext_noop("Unreadable secret"),
    "user_deactivated": gettext_noop("User deactivated"),
    "left_group": gettext_noop("User left the group"),
    "actor_deactivated": gettext_noop("Requester deactivated"),
    "acting_right_lost": gettext_noop("May no longer act for others"),
    "key_revoked": gettext_noop("Key revoked"),
    "right_lost": gettext_noop("Access lost"),
}


def label_reason(code: str) -> str:
    """Return the label of a call's reason in the reader's language."""
    return gettext(LABELS[code]) if code in LABELS else label_problem(code)
