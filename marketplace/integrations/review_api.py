"""REST endpoints for reviewing definitions, for admins."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE, Conflict, Refusals, refusals_as_problems
from acl.web.request_callers import installation_admin
from acl.web.serializers import ProblemSerializer, StrictSerializer, Text, serializer_for
from catalog.models import Definition, Integration
from catalog.registration.definition_review import ChangedSinceError, NotReadableError
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from catalog.trust.findings import Finding
from marketplace.installs.confirmation import ConnectionLine
from marketplace.installs.requests import NotPermittedError
from marketplace.installs.serializers import WordedField
from marketplace.integrations import review_decisions
from marketplace.integrations.review_decisions import (
    OtherTargetError,
    confirm_integration,
    target_to_confirm,
)

MOST_DECISIONS = 1_000
MOST_SHOWN = 100
_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409)}


class FieldSerializer(serializers.Serializer[Any]):
    """A field, with hidden characters escaped."""

    field = serializers.CharField(source="label")
    changed = serializers.BooleanField(source="is_changed")
    before = serializers.CharField()
    after = serializers.CharField()


class DefinitionSerializer(serializers.Serializer[Any]):
    """A tool's definition beside the approved one."""

    name = serializers.CharField()
    standing = serializers.ChoiceField(["new", "changed", "returned", "gone", "rejected"])
    seen = serializers.CharField(help_text="Digest of this text. Send it back with the decision.")
    origin = serializers.ChoiceField(
        [value for value, _ in Definition.Origin.choices], help_text="Origin of the definition."
    )
    file = serializers.CharField(
        source="source", help_text="The file that it was read from, or empty."
    )
    problem = serializers.CharField(help_text="Reason why it cannot be stored, or empty.")
    findings = serializer_for(Finding)(many=True)
    old_name = serializers.CharField(
        source="rename.old",
        default="",
        help_text="The tool that has this text under another name, or empty.",
    )
    hangs = serializers.DictField(
        source="rename.hangs",
        default=dict,
        child=serializers.IntegerField(),
        help_text="What hangs on the old name and goes along, by kind.",
    )
    differences = FieldSerializer(many=True, source="fields")


class ReviewSerializer(serializers.Serializer[Any]):
    """Definitions of an integration to review."""

    integration = serializers.CharField()
    waiting = serializers.IntegerField()
    is_update = serializers.BooleanField(help_text="Whether an update waits for this review.")
    seen = serializers.CharField(help_text="Digest of all that is pending, to approve it together.")
    about = serializer_for(Finding)(many=True, help_text="Findings about the server itself.")
    definitions = DefinitionSerializer(many=True)


class DecisionSerializer(StrictSerializer):
    """Definitions with the digests that were seen."""

    definitions = serializers.DictField(
        child=serializers.RegexField(r"^[0-9a-f]{64}$"),
        required=False,
        help_text="`seen` of each definition, by its name.",
    )


class ApprovalSerializer(DecisionSerializer):
    """Definitions to approve: some, or all pending ones."""

    seen = Text(
        max_length=64,
        required=False,
        help_text="`seen` of the review: approves all of it.",
    )
    apart = serializers.ListField(
        child=Text(max_length=200),
        required=False,
        max_length=MOST_DECISIONS,
        help_text="Names that do not get what hangs on their old names, rules that deny included.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require exactly one of `definitions` and `seen`."""
        if bool(attrs.get("definitions")) == bool(attrs.get("seen")):
            raise serializers.ValidationError("Give either `definitions` or `seen`.")
        if set(attrs.get("apart", ())) - set(attrs.get("definitions", ())):
            raise serializers.ValidationError("`apart` names some of `definitions`.")
        return attrs


class RejectionSerializer(DecisionSerializer):
    """Definitions to reject."""

    definitions = serializers.DictField(
        child=serializers.RegexField(r"^[0-9a-f]{64}$"),
        allow_empty=False,
        help_text="`seen` of each definition, by its name.",
    )


class ReviewedSerializer(serializers.Serializer[Any]):
    """Number of decisions, and of definitions that still wait."""

    decided = serializers.IntegerField()
    waiting = serializers.IntegerField()


class ReviewView(AdminView):
    """Pending definitions of an integration."""

    @extend_schema(
        operation_id="review_integration",
        tags=["Integrations"],
        summary="List definitions to review, beside the approved ones",
        responses={200: ReviewSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the first hundred definitions; `waiting` counts all."""
        row = get_object_or_404(Integration, slug=slug)
        review = review_decisions.to_review(row, review_decisions.waiting_install(row))
        values = {
            "integration": row.slug,
            "waiting": review.waiting,
            "is_update": review.is_update,
            "seen": review_decisions.seen_of(row),
            "about": review_decisions.about_server(row),
            "definitions": [make() for make in review.changes[:MOST_SHOWN]],
        }
        return Response(ReviewSerializer(values).data)


class ApproveDefinitionView(AdminView):
    """Approve definitions."""

    @extend_schema(
        operation_id="approve_definitions",
        tags=["Integrations"],
        summary="Approve definitions as they were seen",
        request=ApprovalSerializer,
        responses={200: ReviewedSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Approve definitions; 409 and no change if a definition has changed since it was seen."""
        row = get_object_or_404(Integration, slug=slug)
        values = _valid(ApprovalSerializer, request.data)
        by = installation_admin(request)
        with refusals_as_problems(_REFUSALS):
            if values.get("seen"):
                decided = review_decisions.approve_all(
                    by=by, integration=row, digest=values["seen"]
                )
            else:
                digests = values["definitions"]
                apart = values.get("apart", ())
                names = review_decisions.approve(
                    by=by, integration=row, digests=digests, apart=apart
                )
                decided = len(names)
        return _decided(row, decided)


class RejectDefinitionView(AdminView):
    """Reject definitions."""

    @extend_schema(
        operation_id="reject_definitions",
        tags=["Integrations"],
        summary="Reject definitions until their server changes them",
        request=RejectionSerializer,
        responses={200: ReviewedSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Reject definitions; 409 if a definition has changed since it was seen."""
        row = get_object_or_404(Integration, slug=slug)
        digests = _valid(RejectionSerializer, request.data)["definitions"]
        with refusals_as_problems(_REFUSALS):
            by = installation_admin(request)
            decided = len(review_decisions.keep_out(by=by, integration=row, digests=digests))
        return _decided(row, decided)


_REFUSALS: Refusals = {
    ChangedSinceError: lambda _: Conflict("The definitions have changed. Look them up again."),
    NotReadableError: lambda problem: Conflict(str(problem)),
}


def _decided(row: Integration, decided: int) -> Response:
    waiting = review_decisions.to_review(row, review_decisions.waiting_install(row)).waiting
    return Response(ReviewedSerializer({"decided": decided, "waiting": waiting}).data)


def _valid(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    if len(checked.validated_data.get("definitions", ())) > MOST_DECISIONS:
        raise exceptions.ValidationError({"definitions": [f"At most {MOST_DECISIONS}."]})
    return dict(checked.validated_data)


# REST endpoint for confirming imported integrations, for admins.


class TargetSerializer(serializers.Serializer[Any]):
    """Target of an integration: its address, or the program to start."""

    integration = serializers.CharField()
    confirmed = serializers.BooleanField(help_text="Whether an admin has confirmed it.")
    transport = serializers.CharField()
    endpoint = WordedField()
    command = serializers.ListField(child=WordedField())
    required_secrets = serializers.ListField(child=serializers.CharField())
    headers = serializers.DictField(child=WordedField())
    came_from = serializers.CharField(help_text="The source that declared it.")
    connection = serializer_for(ConnectionLine)(
        many=True, help_text="All that the digest covers, by its place."
    )
    digest = serializers.CharField(help_text="Digest of this target. Send it back to confirm it.")


class ConfirmationSerializer(StrictSerializer):
    """Digest of the target that was reviewed."""

    digest = Text(max_length=64)


class ConfirmImportView(AdminView):
    """Target of an integration: look up and confirm."""

    @extend_schema(
        operation_id="integration_target",
        tags=["Integrations"],
        summary="Get the address or command of an integration",
        responses={200: TargetSerializer, **_PROBLEMS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the whole target, for review before the confirmation."""
        return Response(_shown(get_object_or_404(Integration, slug=slug)))

    @extend_schema(
        operation_id="confirm_integration",
        tags=["Integrations"],
        summary="Confirm an imported integration",
        request=ConfirmationSerializer,
        responses={200: TargetSerializer, **_PROBLEMS},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Confirm the target; 409 if it is confirmed already, or has changed."""
        row = get_object_or_404(Integration, slug=slug)
        serializer = ConfirmationSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        digest = serializer.validated_data["digest"]
        try:
            by = installation_admin(request)
            if not confirm_integration(by=by, integration=row, confirmed=digest):
                raise Conflict("It is already confirmed.")
        except OtherTargetError:
            raise Conflict("The target has changed. Look it up again.") from None
        except NotPermittedError:
            raise exceptions.PermissionDenied(
                "You are not allowed to start programs on this machine."
            ) from None
        except (CommandNotAllowedError, EndpointNotAllowedError) as refused:
            raise exceptions.ValidationError({"digest": [str(refused)]}) from None
        row.refresh_from_db()
        return Response(_shown(row))


def _shown(row: Integration) -> dict[str, Any]:
    values = {"integration": row.slug, "confirmed": not row.unconfirmed}
    return dict(TargetSerializer({**values, **asdict(target_to_confirm(row))}).data)
