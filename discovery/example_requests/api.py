"""REST API of example requests, for admins."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import AdminView
from acl.web.request_callers import installation_admin
from acl.web.serializers import StrictSerializer, Text, serializer_for
from catalog.models import Integration
from discovery.example_requests.proposals import (
    MOST_TOOLS,
    ExampleOverview,
    ExamplesRefusedError,
    ask_for_examples,
    choose_tools,
    overview_of,
    set_examples,
)
from discovery.models import ChatModel
from discovery.models.chat import LONGEST_NAME

_NAME = 64


class AskForExamplesSerializer(StrictSerializer):
    """The chat model to ask, and about which tools."""

    model = Text(max_length=LONGEST_NAME, help_text="The name of a chat model.")
    tools = serializers.ListField(
        child=Text(max_length=_NAME),
        default=list,
        max_length=MOST_TOOLS,
        help_text="Full names. Empty for those described poorly that have no example requests.",
    )


class SetExamplesSerializer(StrictSerializer):
    """Example requests of one tool, in place of what it has and of what a model proposes."""

    tool = Text(max_length=_NAME, help_text="Its full name.")
    texts = serializers.ListField(
        child=Text(max_length=1_000), max_length=50, help_text="Empty to take them back."
    )


class ExampleOverviewSerializer(serializer_for(ExampleOverview)):  # type: ignore[misc]  # made there
    """Example requests of an integration's tools, in use and proposed."""


class ExampleRequestsView(AdminView):
    """Example requests of an integration's tools: list, ask a model, and set."""

    @extend_schema(
        operation_id="list_example_requests",
        tags=["Integrations"],
        summary="List an integration's example requests",
        responses={200: ExampleOverviewSerializer},
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the example requests of its tools, in use or proposed by a chat model."""
        row = get_object_or_404(Integration.objects.all(), slug=slug)
        return _overview(row)

    @extend_schema(
        operation_id="ask_for_example_requests",
        tags=["Integrations"],
        summary="Ask a chat model for example requests",
        request=AskForExamplesSerializer,
        responses={202: ExampleOverviewSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Ask a chat model. It sees names, parameters and descriptions of these tools."""
        row = get_object_or_404(Integration.objects.all(), slug=slug)
        body = AskForExamplesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        model = ChatModel.objects.filter(name=body.validated_data["model"]).first()
        if model is None:
            raise ValidationError({"model": ["There is no chat model of this name."]})
        tools = choose_tools(row, body.validated_data["tools"])
        admin = installation_admin(request)
        ask_for_examples(by=admin, integration=row, model=model, tools=tools)
        return _overview(row, status=202)

    @extend_schema(
        operation_id="set_example_requests",
        tags=["Integrations"],
        summary="Set a tool's example requests",
        request=SetExamplesSerializer,
        responses={200: ExampleOverviewSerializer},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set the example requests of one tool. It is found by them from the next minute."""
        row = get_object_or_404(Integration.objects.all(), slug=slug)
        body = SetExamplesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        tool, texts = body.validated_data["tool"], body.validated_data["texts"]
        try:
            choose_tools(row, [tool])
            set_examples(by=installation_admin(request), integration=row, texts={tool: texts})
        except ExamplesRefusedError as refused:
            field = "texts" if refused.field == tool else "tool"
            raise ValidationError({field: [str(refused)]}) from None
        return _overview(row)


def _overview(row: Integration, *, status: int = 200) -> Response:
    return Response(ExampleOverviewSerializer(overview_of(row)).data, status=status)
