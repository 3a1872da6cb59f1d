"""REST API of the log of calls: one's own, and for admins those of everyone.

It has no arguments and no results; `get_call` has them for the call's own people.
"""

import time
from collections.abc import Callable, Generator
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey
from acl.web.authentication import has_scope
from acl.web.open_streams import OpenStreams
from acl.web.request_callers import principal_of
from acl.web.serializers import StrictSerializer, Text
from discovery.calls._questions import without_words
from discovery.calls.log import (
    PAGE,
    CallFilter,
    Cursor,
    WrongCursorError,
    filter_calls,
    log_of,
    milliseconds_of,
    page_of_calls,
)
from discovery.models import Call

# Stream of changes for the page of the log of calls.
#
# It says only that something has changed: the page then reads its calls again, with the rights of
# that moment.

# Places of this process, beside those of assistants.
log_streams = OpenStreams(most=8, most_of_one=2)
MOST_SECONDS = 900  # the browser opens the next one then
_LOOK_SECONDS = 1.0
_ANYWAY_SECONDS = 30  # a right that was taken away changes no call
CHANGED = {"changed": True}

Mark = tuple[Any, ...]


def mark_of(calls: QuerySet[Call]) -> Mark:
    """Return what differs as soon as the first page of the log does."""
    newest = calls.order_by("-created_at", "-pk").values_list("pk", "state")[:PAGE]
    return int(time.monotonic() // _ANYWAY_SECONDS), *newest


def follow_log(
    look: Callable[[], Mark | None], place: int
) -> Generator[dict[str, Any] | None, None, None]:
    """Yield CHANGED at first and after each change, and None in every second of silence.

    It ends after `look` returns None: the log may no longer be read, which the page hears as a
    change, too. `place` was taken of `log_streams`, and is given back.
    """
    try:
        yield None  # begun, so that what follows is done in any case
        yield CHANGED  # the page may be older than the stream
        before, ends_at = look(), time.monotonic() + MOST_SECONDS
        while before is not None and time.monotonic() < ends_at:
            time.sleep(_LOOK_SECONDS)
            now = look()
            yield None if now == before else CHANGED
            before = now
    finally:
        log_streams.give_back(place)


_FILTERS = (
    "user", "group", "integration", "tool", "key", "state", "reason", "turn", "since", "until",
)  # fmt: skip


class CallLogQuerySerializer(StrictSerializer):
    """Filters of the log, and the place of the page."""

    whose = serializers.ChoiceField(
        ("own", "everyone"),
        default="",
        help_text="`own`: calls that the sender may read (scope `execute`; the default with it). "
        "`everyone`: calls in the groups that the sender administers (scope `admin`).",
    )
    user = Text(
        max_length=150, default="", allow_blank=True, help_text="The name of the call's user."
    )
    group = Text(max_length=150, default="", allow_blank=True)
    integration = Text(
        max_length=64, default="", allow_blank=True, help_text="The slug of an integration."
    )
    tool = Text(
        max_length=64,
        default="",
        allow_blank=True,
        help_text="The beginning of a tool's full name.",
    )
    key = Text(
        max_length=12, default="", allow_blank=True, help_text="The beginning of an API key."
    )
    state = serializers.ChoiceField(Call.State.choices, default="")
    reason = Text(
        max_length=32,
        default="",
        allow_blank=True,
        help_text="Why calls failed, as `get_call` says it.",
    )
    turn = serializers.UUIDField(default=None)
    since = serializers.DateTimeField(default=None)
    until = serializers.DateTimeField(default=None, help_text="Before this time.")
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500)
    before = Text(
        max_length=60,
        default="",
        allow_blank=True,
        help_text="`older` of a page: calls older than these.",
    )
    after = Text(
        max_length=60,
        default="",
        allow_blank=True,
        help_text="`newer` of a page: calls newer than these.",
    )


class LoggedCallSerializer(serializers.Serializer[Any]):
    """A call in the log."""

    id = serializers.UUIDField(source="pk")
    at = serializers.DateTimeField(source="created_at")
    user = serializers.CharField(source="user.username")
    group = serializers.CharField(source="group.name")
    tool = serializers.CharField(source="full_name")
    side_effect = serializers.CharField()
    state = serializers.ChoiceField(Call.State.choices)
    reason = serializers.CharField(help_text="Why it failed, or empty.")
    actor = serializers.SerializerMethodField(
        help_text="Who acted; null for a key without an owner."
    )
    credential = serializers.CharField()
    key_prefix = serializers.CharField()
    key_name = serializers.CharField()
    turn = serializers.UUIDField(source="turn_id", allow_null=True)
    needs_approval = serializers.BooleanField()
    decided_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    questions = serializers.SerializerMethodField(
        help_text="Kind and state of each question that its server asked."
    )
    milliseconds = serializers.SerializerMethodField(
        help_text="How long it ran, without its wait for approval."
    )

    def get_actor(self, call: Call) -> str | None:
        """Return the actor's name."""
        return call.actor.username if call.actor else None

    def get_questions(self, call: Call) -> list[dict[str, str]]:
        """Return the questions without their words."""
        return without_words(call.questions or ())

    def get_milliseconds(self, call: Call) -> int | None:
        """Return the running time."""
        return milliseconds_of(call)


class CallLogSerializer(serializers.Serializer[Any]):
    """A page of the log, newest first."""

    calls = LoggedCallSerializer(many=True)
    newer = serializers.CharField(allow_null=True, help_text="For `after`; null on the first page.")
    older = serializers.CharField(allow_null=True, help_text="For `before`; null on the last page.")


class CallLogView(APIView):
    """The log of calls."""

    required_scope = (ApiKey.Scope.EXECUTE, ApiKey.Scope.ADMIN)

    @extend_schema(
        operation_id="list_calls",
        tags=["Calls"],
        summary="List calls",
        parameters=[CallLogQuerySerializer],
        responses={200: CallLogSerializer},
    )
    def get(self, request: Request) -> Response:
        """List calls, newest first: the sender's own, or those of everyone for admins.

        An admin key sees its groups' calls of tools that these groups have; staff see all.
        """
        query = CallLogQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        values = query.validated_data
        everyone = _is_of_everyone(request, values["whose"])
        filters = CallFilter(**{name: values[name] for name in _FILTERS})
        page = page_of_calls(
            filter_calls(log_of(principal_of(request), everyone=everyone), filters),
            size=values["limit"],
            before=_cursor(values, "before"),
            after=_cursor(values, "after"),
            is_own=not everyone,
        )
        places = {"newer": page.newer, "older": page.older}
        cursors = {name: place and str(place) for name, place in places.items()}
        return Response(CallLogSerializer({"calls": page.calls, **cursors}).data)


def _is_of_everyone(request: Request, whose: str) -> bool:
    """Return True for the calls of everyone. Raises PermissionDenied without the scope."""
    scopes = {"own": ApiKey.Scope.EXECUTE, "everyone": ApiKey.Scope.ADMIN}
    if not whose:
        return not has_scope(request.user, ApiKey.Scope.EXECUTE)
    if not has_scope(request.user, scopes[whose]):
        raise PermissionDenied("The key or the person lacks the scope that this needs.")
    return whose == "everyone"


def _cursor(values: dict[str, Any], name: str) -> Cursor | None:
    if not values[name]:
        return None
    if values["before"] and values["after"]:
        raise ValidationError({"after": ["Send `before` or `after`, not both."]})
    try:
        return Cursor.parse(values[name])
    except WrongCursorError as wrong:
        raise ValidationError({name: [str(wrong)]}) from None
