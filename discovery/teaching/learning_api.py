"""REST API of learning: review what a group has learned, and reset it."""

from dataclasses import asdict

from django.conf import settings
from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import ApiKey
from acl.rights.caller_lookup import CallerRefused
from acl.web.api_views import CallerSerializer, CallerView
from acl.web.request_callers import own_group, person_of
from acl.web.serializers import StrictSerializer, Text, serializer_for
from discovery.learning.experience_store import LearningReview, reset, review


class ResetQuerySerializer(StrictSerializer):
    """The group to reset."""

    group = Text(
        max_length=150,
        required=False,
        default="",
        help_text="The group's name. A key resets its own group only; a person must name one.",
    )


class LearningSerializer(serializer_for(LearningReview)):  # type: ignore[misc]  # a class, made there
    """Learning results of a group, for the caller's capabilities."""

    forgotten_after_days = serializers.IntegerField()


class LearningView(CallerView):
    """A group's memory."""

    required_scope = {
        "GET": ApiKey.Scope.DISCOVER,
        "DELETE": ApiKey.Scope.ADMIN,
    }

    @extend_schema(
        operation_id="get_learning",
        tags=["Learning"],
        summary="Get what a group has learned",
        parameters=[CallerSerializer],
        responses={200: LearningSerializer},
    )
    def get(self, request: Request) -> Response:
        """Review a group's memory, limited to capabilities that the caller may use."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        body = asdict(review(caller=caller))
        return Response(body | {"forgotten_after_days": settings.PEGBOARD_LEARNING_DAYS})

    @extend_schema(
        operation_id="reset_learning",
        tags=["Learning"],
        summary="Forget what a group has learned",
        parameters=[ResetQuerySerializer],
        request=None,
        responses={204: None},
    )
    def delete(self, request: Request) -> Response:
        """Delete a group's memory. For admins; the audit log records it."""
        serializer = ResetQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        reset(by=person_of(request), group=_group(request, serializer.validated_data["group"]))
        return Response(status=204)


def _group(request: Request, name: str) -> Group:
    key_group = own_group(request, name)
    if key_group is None and not name:
        raise ValidationError({"group": "Name the group."})
    groups = Group.objects.all() if key_group is None else Group.objects.filter(pk=key_group)
    group = (groups.filter(name=name) if name else groups).first()
    if group is None:
        raise CallerRefused
    return group
