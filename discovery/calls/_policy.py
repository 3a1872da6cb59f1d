"""Policies of groups on their calls: changing them, and applying them to calls that ended.

A call needs its arguments until it is sent, and whoever asked must be able to read the answer: the
policy is applied an hour after the end. What was removed does not come back.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import DateTimeField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from acl.audit.recorder import record
from acl.platform.strict_json import StrictJSONError, parse_json, write_json
from discovery.calls._questions import without_words
from discovery.calls.state import UNKNOWN_OUTCOME
from discovery.models import Call, CallPolicy
from discovery.models.call import DEEPEST_RESULT, Content

APPLIED_AFTER = timedelta(hours=1)
REMOVED_MESSAGE = gettext_noop(
    "By the group's policy, this call's arguments and result are removed."
)
_DAY = timedelta(days=1)
_NOT_KEPT = "{}"


def longest_days() -> int:
    """Return for how many days this deployment keeps finished calls."""
    return int(settings.PEGBOARD_CALL_DAYS)


@transaction.atomic
def set_policy(*, by: User | None, group: Group, content: int, days: int | None) -> CallPolicy:
    """Set what the group keeps of its calls, and record the change."""
    policy, _ = CallPolicy.objects.select_for_update().get_or_create(group=group)
    before = {"content": Content(policy.content).name.lower(), "days": policy.days}
    policy.content, policy.days = content, days
    policy.save()
    after = {"content": Content(content).name.lower(), "days": days}
    if after != before:
        details = {"before": before, "after": after}
        record(by=by, action="call_policy.changed", target=group.name, details=details)
    return policy


def apply_policies(*, most: int) -> None:
    """Redact or remove what policies do not keep of calls that ended an hour ago, and delete
    calls that a group keeps for fewer days."""
    stricter = Q(group__call_policy__content__gt=F("content"))
    waiting = Call.objects.filter(stricter, ended_at__lt=Now() - APPLIED_AFTER)
    policies = waiting.annotate(wanted=F("group__call_policy__content"))
    for call in policies.order_by("ended_at", "pk")[:most]:
        _apply(call, call.wanted)
    keep_since = ExpressionWrapper(
        Now() - F("group__call_policy__days") * Value(_DAY), output_field=DateTimeField()
    )
    old = Call.objects.filter(group__call_policy__days__isnull=False, ended_at__lt=keep_since)
    Call.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:most])).delete()


def _apply(call: Call, content: int) -> None:
    # The guard's verdict without the values that it found.
    flow = call.flow or {}
    values: dict[str, Any] = {
        "content": content,
        "flow": ({"verdict": flow["verdict"]} if "verdict" in flow else {}),
    }
    values["questions"] = without_words(call.questions or ())
    if content == Content.REDACTED:
        values["arguments_json"] = _redact_text(call.arguments_json)
        values["result_json"] = call.result_json and _redact_text(call.result_json)
    else:
        values |= {"arguments_json": _NOT_KEPT, "result_json": ""}
    # What a server said may repeat what it was given.
    if call.started_at is not None and call.message:
        unknown = call.state == Call.State.UNKNOWN
        values["message"] = UNKNOWN_OUTCOME if unknown else REMOVED_MESSAGE
    Call.objects.filter(pk=call.pk, content__lt=content).update(**values)


def _redact_text(text: str) -> str:
    try:
        value = parse_json(text, max_depth=DEEPEST_RESULT, any_text=True)
    except StrictJSONError:
        return _NOT_KEPT
    return write_json(redact(value), ensure_ascii=True)


def redact(value: Any, name: str = "") -> Any:
    """Return the value with its shape and names, and each text and number as its type and length.

    The parts of an answer keep their own types, by which pages show them.
    """
    if isinstance(value, dict):
        return {key: redact(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [redact(part) for part in value]
    if value is None or isinstance(value, bool) or (name == "type" and value in _BLOCKS):
        return value
    if isinstance(value, str):
        return f"[text of {len(value)} characters]"
    return "[number]"


_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})
