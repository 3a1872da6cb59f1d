"""REST API of chat models, for admins. No answer has a key."""

from typing import Any

from django.contrib.auth.models import Group
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text
from discovery.chats.models import (
    MOST_OF_KEY,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.chats.providers.registry import APIS
from discovery.models import ChatModel
from discovery.models.chat import LONGEST_ADDRESS, LONGEST_ID, LONGEST_NAME

_MOST_GROUPS = 200


class SetChatModelSerializer(StrictSerializer):
    """Chat model to store, in place of one with its name."""

    name = Text(max_length=LONGEST_NAME)
    provider = serializers.ChoiceField(choices=list(APIS))
    model = Text(max_length=LONGEST_ID, help_text="Its name at the provider.")
    address = Text(
        max_length=LONGEST_ADDRESS,
        default="",
        allow_blank=True,
        help_text="Empty for the provider's own.",
    )
    key = Text(
        max_length=MOST_OF_KEY,
        default="",
        allow_blank=True,
        write_only=True,
        help_text="Empty keeps the stored one. It is never shown.",
    )
    groups = serializers.ListField(
        child=Text(max_length=150),
        default=list,
        max_length=_MOST_GROUPS,
        help_text="Names of groups that may use it; without any it is for admins.",
    )
    daily_tokens = serializers.IntegerField(default=200_000, min_value=1, max_value=10**12)


class ChatModelSerializer(serializers.Serializer[Any]):
    """Chat model without its key."""

    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    provider = serializers.ChoiceField(choices=list(APIS))
    model = serializers.CharField(source="model_id")
    address = serializers.CharField(
        source="worded_address", help_text="Whatever in it could be a secret is redacted."
    )
    groups = serializers.ListField(source="group_names", child=serializers.CharField())
    daily_tokens = serializers.IntegerField()


class ChatModelListSerializer(serializers.Serializer[Any]):
    """All chat models."""

    models = ChatModelSerializer(many=True)


class ChatModelsView(AdminView):
    """Chat models: list and set."""

    @extend_schema(
        operation_id="list_chat_models",
        tags=["Playground"],
        summary="List chat models",
        responses={200: ChatModelListSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the models that people chat with in the Playground."""
        models = ChatModel.objects.prefetch_related("groups")
        return Response(ChatModelListSerializer({"models": models}).data)

    @extend_schema(
        operation_id="set_chat_model",
        tags=["Playground"],
        summary="Set a chat model",
        request=SetChatModelSerializer,
        responses={200: ChatModelSerializer},
    )
    def post(self, request: Request) -> Response:
        """Set a model, in place of one with its name."""
        body = SetChatModelSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        values = dict(body.validated_data)
        names = values["groups"]
        groups = {group.name: group for group in Group.objects.filter(name__in=names)}
        unknown = [name for name in names if name not in groups]
        if unknown:
            raise ValidationError({"groups": [f"There is no group “{unknown[0]}”."]})
        values["groups"] = list(groups.values())
        values["model_id"] = values.pop("model")
        model = set_model(by=installation_admin(request), values=WantedModel(**values))
        return Response(ChatModelSerializer(model).data)


class ChatModelView(AdminView):
    """Chat model."""

    @extend_schema(
        operation_id="delete_chat_model",
        tags=["Playground"],
        summary="Delete a chat model",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the model with its key. Chats with it stay, and get no more answers."""
        model = get_object_or_404(ChatModel.objects.all(), pk=pk)
        delete_model(by=installation_admin(request), model=model)
        return Response(status=204)
