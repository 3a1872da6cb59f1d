"""REST API of chat applications, for admins: what is said of them, their keys, and their use."""

from typing import Any

from django.contrib.auth.models import Group
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.keys.api import KeySerializer
from acl.models import ApiKey, Application
from acl.models.application import LONGEST_CONVERSATION, LONGEST_NAME
from acl.web.api_views import AdminView
from acl.web.problems import Unprocessable
from acl.web.request_callers import principal_of
from acl.web.serializers import Flag, Number, Share, StrictSerializer, Text, serializer_for
from catalog.models import Integration
from discovery.applications.figures import (
    DAYS,
    ApplicationUse,
    ConversationStep,
    ConversationUse,
    find_conversation,
    list_conversations,
    list_steps,
    use_of_applications,
)
from discovery.applications.service import (
    CHOICES,
    LARGEST_LIMIT,
    LARGEST_WINDOW,
    LIMITS,
    SMALLEST_WINDOW,
    ApplicationFields,
    ApplicationRefused,
    assign_key,
    change_application,
    create_application,
    delete_application,
    integrations_of,
    list_applications,
)

MOST_INTEGRATIONS = 1000


class DefaultsSerializer(StrictSerializer):
    """Fields of requests that apply where a request of the application leaves them out."""

    mode = serializers.ChoiceField(CHOICES["mode"], required=False)
    format = serializers.ChoiceField(CHOICES["format"], required=False)
    context_window = Number(
        required=False, min_value=SMALLEST_WINDOW, max_value=LARGEST_WINDOW, help_text="Tokens."
    )
    client_executes = Flag(required=False)
    failure_policy = serializers.ChoiceField(CHOICES["failure_policy"], required=False)


def _limit(about: str) -> Number:
    return Number(
        required=False,
        default=None,
        allow_null=True,
        min_value=1,
        max_value=LARGEST_LIMIT,
        help_text=f"{about}; null for no limit.",
    )


class ApplicationBodySerializer(StrictSerializer):
    """Columns of an application, as an admin sets them."""

    name = Text(min_length=1, max_length=LONGEST_NAME)
    description = Text(max_length=300, default="", allow_blank=True)
    group = Text(
        max_length=150, default=None, allow_null=True, help_text="The name of the owner group."
    )
    defaults = DefaultsSerializer(default=dict)
    integrations = serializers.ListField(
        child=Text(max_length=200),
        default=list,
        max_length=MOST_INTEGRATIONS,
        help_text="Slugs of the integrations that it may reach; empty for all.",
    )
    all_integrations = Flag(
        default=None,
        allow_null=True,
        help_text="False with no integrations: it may reach none. Null leaves it to the list.",
    )
    calls_a_minute = _limit("Calls of tools in any 60 seconds")
    calls_a_day = _limit("Calls of tools on a day in UTC")
    tokens_a_day = _limit("Tokens of arguments and results on a day in UTC")
    cpu_a_minute = _limit("Milliseconds of CPU time a minute of all its keys")
    alert_below = Share(
        required=False,
        default=None,
        allow_null=True,
        help_text="Success rate below which its owners are told; null for the deployment's.",
    )


class ApplicationSerializer(serializers.ModelSerializer[Application]):
    """An application, with its use of the last 30 days."""

    group = serializers.CharField(source="group.name", default=None, allow_null=True)
    defaults = DefaultsSerializer()
    integrations = serializers.SerializerMethodField(help_text="Slugs; empty for all.")
    all_integrations = serializers.SerializerMethodField()
    keys = serializers.IntegerField(source="key_count", help_text="That were not revoked.")
    use = serializers.SerializerMethodField()

    class Meta:
        model = Application
        fields = (
            "id",
            "name",
            "description",
            "group",
            "defaults",
            "integrations",
            "all_integrations",
            *LIMITS,
            "alert_below",
            "created_at",
            "keys",
            "use",
        )
        read_only_fields = fields

    def get_integrations(self, application: Application) -> list[str]:
        """Return the slugs of those that it may reach and that are there."""
        names = self.context["names"]
        return sorted(names[key] for key in application.integrations if key in names)

    def get_all_integrations(self, application: Application) -> bool:
        """Return True if nothing limits it."""
        return not application.integrations

    def get_use(self, application: Application) -> serializer_for(ApplicationUse):  # type: ignore[valid-type]
        """Return its figures."""
        use = self.context["uses"].get(application.pk, ApplicationUse())
        return serializer_for(ApplicationUse)(use).data


class ApplicationListSerializer(serializers.Serializer[Any]):
    """All applications."""

    applications = ApplicationSerializer(many=True)


class ConversationQuerySerializer(StrictSerializer):
    """A conversation, by its name as the application sends it, or as it is stored."""

    conversation = Text(max_length=LONGEST_CONVERSATION, default="", allow_blank=True)


class ConversationListSerializer(serializers.Serializer[Any]):
    """Conversations that sent the most tokens; with a name that one, and its turns and calls."""

    conversations = serializer_for(ConversationUse)(many=True)
    steps = serializer_for(ConversationStep)(many=True)


class AssignKeySerializer(StrictSerializer):
    """A key to put into the application."""

    key = Number(min_value=1, max_value=2**63 - 1, help_text="Its id, of `list_keys`.")


class ApplicationsView(AdminView):
    """Applications: list and create."""

    @extend_schema(
        operation_id="list_applications",
        tags=["Applications"],
        summary="List chat applications",
        responses={200: ApplicationListSerializer},
    )
    def get(self, request: Request) -> Response:
        """List all applications by name, with their use of the last 30 days."""
        rows = list(list_applications())
        return Response({"applications": _bodies(rows)})

    @extend_schema(
        operation_id="create_application",
        tags=["Applications"],
        summary="Create a chat application",
        request=ApplicationBodySerializer,
        responses={201: ApplicationSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create an application. Its keys are put into it afterwards."""
        fields = _read(request)
        application = _refusing(lambda: create_application(by=principal_of(request), fields=fields))
        return Response(_body(application.pk), status=201)


class ApplicationView(AdminView):
    """An application."""

    @extend_schema(
        operation_id="get_application",
        tags=["Applications"],
        summary="Get a chat application",
        responses={200: ApplicationSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return the application with its use."""
        return Response(_body(pk))

    @extend_schema(
        operation_id="change_application",
        tags=["Applications"],
        summary="Change a chat application",
        request=ApplicationBodySerializer,
        responses={200: ApplicationSerializer},
    )
    def put(self, request: Request, pk: int) -> Response:
        """Replace everything that is said of the application, with effect from the next
        request."""
        application = get_object_or_404(Application, pk=pk)
        fields = _read(request)
        _refusing(
            lambda: change_application(
                by=principal_of(request), application=application, fields=fields
            )
        )
        return Response(_body(pk))

    @extend_schema(
        operation_id="delete_application",
        tags=["Applications"],
        summary="Delete a chat application",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete the application and revoke its keys."""
        application = get_object_or_404(Application, pk=pk)
        _refusing(lambda: delete_application(by=principal_of(request), application=application))
        return Response(status=204)


class ApplicationKeysView(AdminView):
    """Keys of an application."""

    @extend_schema(
        operation_id="list_application_keys",
        tags=["Applications"],
        summary="List the keys of a chat application",
        responses={200: KeySerializer(many=True)},
    )
    def get(self, request: Request, pk: int) -> Response:
        """List its keys, newest first, revoked ones as well."""
        application = get_object_or_404(Application, pk=pk)
        keys = application.keys.select_related("owner", "application")
        return Response(KeySerializer(keys.prefetch_related("groups"), many=True).data)

    @extend_schema(
        operation_id="assign_application_key",
        tags=["Applications"],
        summary="Put a key into a chat application",
        request=AssignKeySerializer,
        responses={204: None},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Put a key into the application, out of another if it is in one."""
        application = get_object_or_404(Application, pk=pk)
        body = AssignKeySerializer(data=request.data)
        body.is_valid(raise_exception=True)
        key = get_object_or_404(ApiKey, pk=body.validated_data["key"])
        _refusing(lambda: assign_key(by=principal_of(request), key=key, application=application))
        return Response(status=204)


class ApplicationKeyView(AdminView):
    """A key of an application."""

    @extend_schema(
        operation_id="release_application_key",
        tags=["Applications"],
        summary="Take a key out of a chat application",
        responses={204: None},
    )
    def delete(self, request: Request, pk: int, key: int) -> Response:
        """Take the key out of the application, which limits it no more."""
        row = get_object_or_404(ApiKey, pk=key, application=pk)
        _refusing(lambda: assign_key(by=principal_of(request), key=row, application=None))
        return Response(status=204)


class ConversationsView(AdminView):
    """Conversations of an application."""

    @extend_schema(
        operation_id="list_conversations",
        tags=["Applications"],
        summary="List conversations with their calls and tokens",
        parameters=[ConversationQuerySerializer],
        responses={200: ConversationListSerializer},
    )
    def get(self, request: Request, pk: int) -> Response:
        """List the conversations of the last 30 days, most tokens first, or one with its turns
        and calls."""
        application = get_object_or_404(Application, pk=pk)
        query = ConversationQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        if not (name := query.validated_data["conversation"]):
            conversations, steps = list_conversations(application), []
        elif conversation := find_conversation(application, name):
            conversations = [conversation]
            steps = list_steps(application, conversation.conversation)
        else:
            raise Http404
        answer = {"conversations": conversations, "steps": steps}
        return Response(ConversationListSerializer(answer).data)


def _read(request: Request) -> ApplicationFields:
    body = ApplicationBodySerializer(data=request.data)
    body.is_valid(raise_exception=True)
    values = dict(body.validated_data)
    slugs = set(values.pop("integrations"))
    integrations = tuple(Integration.objects.filter(slug__in=slugs).order_by("pk"))
    if unknown := slugs - {row.slug for row in integrations}:
        reason = f"There is no integration {min(unknown)!r}."
        raise ValidationError({"integrations": [reason]})
    name = values.pop("group")
    group = Group.objects.filter(name=name).first() if name else None
    if name and group is None:
        raise ValidationError({"group": ["There is no group of this name."]})
    return ApplicationFields(**values, integrations=integrations, group=group)


def _refusing(change: Any) -> Any:
    """Return what the service does; a key that is refused is no field of the request."""
    try:
        return change()
    except ApplicationRefused as refused:
        if refused.field == "key":
            raise Unprocessable(str(refused)) from None
        raise


def _body(pk: int) -> Any:
    return _bodies([get_object_or_404(list_applications(), pk=pk)])[0]


def _bodies(rows: list[Application]) -> Any:
    context = {"names": integrations_of(rows), "uses": use_of_applications(rows, days=DAYS)}
    return ApplicationSerializer(rows, many=True, context=context).data
