"""The bodies of calls about approvals."""

from typing import Any

from rest_framework import serializers

from acl.api.serializers import StrictSerializer, Text
from acl.chain import ActorKind, CredentialKind
from catalog.models import Capability
from discovery.binding import digest_of
from discovery.models import Call

MOST = 200


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


class ApprovalSerializer(serializers.ModelSerializer[Call]):
    """A call that a person decides about, with all that they have to know."""

    tool = serializers.CharField(source="full_name")
    description = serializers.CharField(source="capability.description", default="")
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices)
    user = serializers.CharField(source="user.username", help_text="For whom it was asked.")
    group = serializers.CharField(source="group.name")
    key = serializers.CharField(source="key_prefix", help_text="The key that asked, its beginning.")
    chain = ChainSerializer(source="*", help_text="Who asked, with what, on behalf of whom.")
    arguments = serializers.DictField(help_text="Exactly what is sent.")
    digest = serializers.SerializerMethodField(
        help_text="Of everything that is approved: who, which definition, which arguments."
    )
    state = serializers.ChoiceField(Call.State.choices)
    asked_at = serializers.DateTimeField(source="created_at")
    decided_by = serializers.CharField(source="decided_by.username", default=None, allow_null=True)
    decided_with = serializers.CharField(
        source="decided_key_prefix", help_text="The key that decided; empty for a session."
    )

    class Meta:
        model = Call
        fields = (
            "id", "tool", "description", "side_effect", "user", "group", "key", "chain",
            "arguments", "digest", "state", "asked_at", "expires_at", "decided_by", "decided_with",
            "decided_at", "note",
        )  # fmt: skip

    def get_digest(self, call: Call) -> str:
        return digest_of(call)


class ApprovalsSerializer(serializers.Serializer[Any]):
    """Some of them."""

    items = ApprovalSerializer(many=True)
    total = serializers.IntegerField()


class ApprovalsQuerySerializer(StrictSerializer):
    """Which of them."""

    state = serializers.ChoiceField(
        ["waiting", "decided"], default="waiting", help_text="Those that wait, or the others."
    )
    limit = serializers.IntegerField(default=50, min_value=1, max_value=MOST)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class ApproveSerializer(StrictSerializer):
    """A yes."""

    digest = Text(max_length=64, help_text="As it was read: nothing else is approved.")
    note = Text(max_length=500, default="", allow_blank=True)


class RejectSerializer(StrictSerializer):
    """A no."""

    note = Text(min_length=1, max_length=500, help_text="Why: it is told to who asked.")
