"""Serializers of the approvals API."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from acl.actor.chain import ActorKind, CredentialKind
from acl.platform.strict_json import StrictJSONError
from acl.rights.approvers import Eligibility
from acl.visible_text.canonical_json import Argument, Line, text_of_line
from acl.web.strict_serializer import StrictSerializer, Text
from catalog.models import Capability
from discovery.calls.arguments import compare_with_last_approved, digest_of, render_call
from discovery.calls.serializers import FlowSerializer
from discovery.models import Call

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
        return [_rendered(argument) for argument in render_call(call).arguments]

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
                    "before": _text(difference.before) if difference.before else None,
                }
                for difference in comparison.differences
            ],
        }


def _rendered(argument: Argument) -> dict[str, Any]:
    return {
        "name": _name(argument),
        "has_marks": argument.has_marks,
        "lines": [_line(line) for line in argument.lines],
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


def _text(argument: Argument) -> str:
    return "\n".join(map(text_of_line, argument.lines))


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
