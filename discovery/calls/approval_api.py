"""REST API of approvals: list pending calls, approve and reject them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.actor import ActorKind, CredentialKind
from acl.models import ApiKey
from acl.platform.strict_json import StrictJSONError
from acl.rights.approvers import Eligibility
from acl.visible_text.canonical_json import Argument, Line, text_of_line
from acl.web.problems import CONTENT_TYPE, Conflict
from acl.web.request_callers import person_of, principal_of
from acl.web.serializers import ProblemSerializer, StrictSerializer, Text
from catalog.models import Capability
from discovery.calls.approvals import (
    CannotDecideError,
    MayNotDecideError,
    approvals_of,
    approve_call,
    check_eligibility,
    decided,
    reject_call,
    waiting,
)
from discovery.calls.arguments import compare_with_last_approved, digest_of, render_call
from discovery.calls.serializers import FlowSerializer
from discovery.models import Call

# Serializers of the approvals API.

MOST = 200
VALUE_TYPES = ["text", "number", "boolean", "null", "object", "list"]
PART_KINDS = ["plain", "line", "hidden", "foreign", "decoded"]
CHANGES = ["equal", "changed", "new", "gone"]


class ChainSerializer(serializers.Serializer[Call]):
    """The chain of a call: actor, credential, on behalf of."""

    actor = serializers.CharField(
        source="actor.username",
        default=None,
        allow_null=True,
        help_text="The person or service account; null for a key without an owner.",
    )
    actor_kind = serializers.ChoiceField([kind.value for kind in ActorKind])
    credential = serializers.ChoiceField([kind.value for kind in CredentialKind])
    key_id = serializers.IntegerField(allow_null=True)
    key_prefix = serializers.CharField()
    key_name = serializers.CharField()
    on_behalf_of = serializers.CharField(source="user.username")


class RenderedPartSerializer(serializers.Serializer[Any]):
    """A part of a text, or a mark in place of its characters."""

    kind = serializers.ChoiceField(
        PART_KINDS,
        help_text="`plain` is the text itself; `line` ends a line; the others are marks.",
    )
    text = serializers.CharField()


class RenderedLineSerializer(serializers.Serializer[Any]):
    """A value, or the head of an object or list, whose parts follow one level deeper."""

    depth = serializers.IntegerField()
    value_type = serializers.ChoiceField(VALUE_TYPES)
    text = serializers.CharField(help_text="The whole line: texts in quotation marks, with marks.")
    parts = RenderedPartSerializer(many=True)
    length = serializers.IntegerField(required=False, help_text="Of a text, in characters.")
    sha256 = serializers.CharField(required=False, help_text="Of a text, its first 12 digits.")


class RenderedArgumentSerializer(serializers.Serializer[Any]):
    """An argument with every character made visible."""

    name = serializers.CharField(help_text="The name, with marks.")
    has_marks = serializers.BooleanField(
        help_text="Whether a character is invisible, or looks like another."
    )
    lines = RenderedLineSerializer(many=True)


class ArgumentChangeSerializer(serializers.Serializer[Any]):
    """Comparison of an argument with that of the last approved call."""

    name = serializers.CharField()
    change = serializers.ChoiceField(CHANGES)
    before = serializers.CharField(allow_null=True, help_text="The approved value, with marks.")


class ComparisonSerializer(serializers.Serializer[Any]):
    """The last approved call of the same tool in the same group, and the differences."""

    id = serializers.UUIDField()
    decided_at = serializers.DateTimeField()
    arguments = ArgumentChangeSerializer(many=True)


class ApprovalSerializer(serializers.ModelSerializer[Call]):
    """A call with all the information for its approver."""

    tool = serializers.CharField(source="full_name")
    description = serializers.CharField(source="capability.description", default="")
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices)
    user = serializers.CharField(
        source="user.username", help_text="The user whom the call is made for."
    )
    group = serializers.CharField(source="group.name")
    key = serializers.CharField(
        source="key_prefix", help_text="The prefix of the key that made the call."
    )
    chain = ChainSerializer(
        source="*", help_text="The actor, the credential, and the user acted for."
    )
    arguments = serializers.SerializerMethodField(
        help_text="The arguments as sent; null if the row cannot be displayed."
    )
    rendered = serializers.SerializerMethodField(
        help_text="The same for people: typed, and with a mark in the place of every character "
        "that nobody sees or that looks like another."
    )
    unreadable = serializers.SerializerMethodField(
        help_text="Why the arguments cannot be displayed; empty where they can. Such a call can "
        "only be rejected."
    )
    digest = serializers.SerializerMethodField(
        help_text="The digest of what is approved: chain, definition and arguments."
    )
    flow = serializers.SerializerMethodField(
        help_text="The verdict of the guard on flows, with the origins of values; null if it gave "
        "none."
    )
    state = serializers.ChoiceField(Call.State.choices)
    asked_at = serializers.DateTimeField(source="created_at")
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)
    decided_with = serializers.CharField(
        source="decided_key_prefix", help_text="The key that decided; empty for a session."
    )

    objection = serializers.SerializerMethodField(
        help_text="Why the sender may not decide; empty if they may."
    )
    nobody_else = serializers.SerializerMethodField(
        help_text="True if only the requester could approve it: add another admin."
    )

    class Meta:
        model = Call
        fields = (
            "id", "tool", "description", "side_effect", "user", "group", "key", "chain",
            "arguments", "rendered", "unreadable", "digest", "state", "asked_at", "expires_at",
            "decided_by", "decided_with", "decided_at", "note", "objection", "nobody_else", "flow",
        )  # fmt: skip

    def get_digest(self, call: Call) -> str:
        return digest_of(call)

    @extend_schema_field(FlowSerializer(allow_null=True))
    def get_flow(self, call: Call) -> dict[str, Any] | None:
        return call.flow or None

    # A row that cannot be parsed must not break the list of the others.
    @extend_schema_field({"type": "object", "additionalProperties": {}, "nullable": True})
    def get_arguments(self, call: Call) -> dict[str, Any] | None:
        try:
            return call.arguments
        except StrictJSONError:
            return None

    @extend_schema_field(RenderedArgumentSerializer(many=True))
    def get_rendered(self, call: Call) -> list[dict[str, Any]]:
        return [
            {
                "name": _name(argument),
                "has_marks": argument.has_marks,
                "lines": [_line(line) for line in argument.lines],
            }
            for argument in render_call(call).arguments
        ]

    def get_unreadable(self, call: Call) -> str:
        problem = render_call(call).problem
        return f"This call cannot be displayed: {problem}." if problem else ""

    def get_objection(self, call: Call) -> str:
        return self._verdict(call).objection

    def get_nobody_else(self, call: Call) -> bool:
        return self._verdict(call).stuck

    def _verdict(self, call: Call) -> Eligibility:
        verdicts: Mapping[UUID, Eligibility] = self.context["verdicts"]
        return verdicts.get(call.pk, Eligibility())


class OneApprovalSerializer(ApprovalSerializer):
    """A call with its comparison to the last approved one."""

    compared = serializers.SerializerMethodField(
        help_text="With the last approved call of the same tool in the same group; null for the "
        "first."
    )

    class Meta(ApprovalSerializer.Meta):
        fields = (*ApprovalSerializer.Meta.fields, "compared")  # type: ignore[assignment]

    @extend_schema_field(ComparisonSerializer(allow_null=True))
    def get_compared(self, call: Call) -> dict[str, Any] | None:
        comparison = compare_with_last_approved(call)
        if comparison is None:
            return None
        return {
            "id": str(comparison.earlier.pk),
            "decided_at": comparison.earlier.decided_at,
            "arguments": [
                {
                    "name": _name(difference.shown),
                    "change": difference.change,
                    "before": "\n".join(map(text_of_line, difference.before.lines))
                    if difference.before
                    else None,
                }
                for difference in comparison.differences
            ],
        }


def _line(line: Line) -> dict[str, Any]:
    row: dict[str, Any] = {
        "depth": line.depth,
        "value_type": line.kind,
        "text": text_of_line(line),
        "parts": [{"kind": piece.kind, "text": piece.text} for piece in line.value],
    }
    return row | ({"length": line.size, "sha256": line.digest} if line.kind == "text" else {})


def _name(argument: Argument) -> str:
    return "".join(piece.text for piece in argument.head.name)


class ApprovalsSerializer(serializers.Serializer[Any]):
    """A page of calls."""

    items = ApprovalSerializer(many=True)
    total = serializers.IntegerField()


class ApprovalsQuerySerializer(StrictSerializer):
    """Filter and page of the list."""

    state = serializers.ChoiceField(
        ["waiting", "decided"], default="waiting", help_text="Pending or decided calls."
    )
    limit = serializers.IntegerField(default=50, min_value=1, max_value=MOST)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class ApproveSerializer(StrictSerializer):
    """An approval."""

    digest = Text(max_length=64, help_text="The digest as it was read; anything else is refused.")
    note = Text(max_length=500, default="", allow_blank=True)


class RejectSerializer(StrictSerializer):
    """A rejection."""

    note = Text(min_length=1, max_length=500, help_text="The reason, shown to the requester.")


DECIDED = {200: OneApprovalSerializer, (409, CONTENT_TYPE): ProblemSerializer}


class ApprovalsView(APIView):
    """Pending and decided calls."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_approvals",
        tags=["Approvals"],
        summary="List calls that need approval",
        parameters=[ApprovalsQuerySerializer],
        responses={200: ApprovalsSerializer},
    )
    def get(self, request: Request) -> Response:
        """List calls that need approval: an admin key sees those of its groups, staff all."""
        query = ApprovalsQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        values = query.validated_data
        calls = approvals_of(principal_of(request))
        calls = waiting(calls) if values["state"] == "waiting" else decided(calls)
        start = values["offset"]
        items = list(calls[start : start + values["limit"]])
        page = {"items": items, "total": calls.count()}
        context = _verdicts(request, items)
        return Response(ApprovalsSerializer(page, context=context).data)


class ApprovalView(APIView):
    """Details of a call for its approver."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_approval",
        tags=["Approvals"],
        summary="Get a call that needs approval",
        responses={200: OneApprovalSerializer},
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """Return the call with its arguments, and the digest that an approval must repeat."""
        return _answer(request, _find_call(request, pk))


class ApproveView(APIView):
    """Approval of a call."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="approve_call",
        tags=["Approvals"],
        summary="Approve a call",
        request=ApproveSerializer,
        responses=DECIDED,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Approve a pending call. The approver must not be the asker; a key acts for its owner.

        409 if the call is no longer pending, or differs from what was displayed.
        """
        return _decide(request, pk, ApproveSerializer, approve_call)


class RejectView(APIView):
    """Rejection of a call."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="reject_call",
        tags=["Approvals"],
        summary="Reject a call",
        request=RejectSerializer,
        responses=DECIDED,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Reject a pending call. The asker sees the note."""
        return _decide(request, pk, RejectSerializer, reject_call)


def _find_call(request: Request, pk: UUID) -> Call:
    return get_object_or_404(approvals_of(principal_of(request)), pk=pk)


def _decide(request: Request, pk: UUID, form: Any, decide: Any) -> Response:
    call = _find_call(request, pk)
    body = form(data=request.data)
    body.is_valid(raise_exception=True)
    try:
        call = decide(by=person_of(request), call=call, **body.validated_data)
    except MayNotDecideError as refused:
        raise PermissionDenied(str(refused)) from None
    except CannotDecideError as late:
        raise Conflict(str(late)) from None
    return _answer(request, call)


def _answer(request: Request, call: Call) -> Response:
    context = _verdicts(request, [call])
    return Response(OneApprovalSerializer(call, context=context).data)


def _verdicts(request: Request, calls: list[Call]) -> dict[str, Any]:
    """Return the serializer's context: who may decide about the pending calls."""
    pending = [call for call in calls if call.state == Call.State.WAITING]
    return {"verdicts": check_eligibility(by=person_of(request), calls=pending)}
