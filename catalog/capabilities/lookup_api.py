"""API of lookups: lists, single capabilities, categories, the tree, statistics."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.api_views import CallerSerializer, CallerView
from acl.web.serializers import Flag, Text, serializer_for
from catalog.capabilities import catalog_queries
from catalog.capabilities.detail_levels import ACCESSES, DETAILS
from catalog.effects.assessment import FLAGS, FLAGS_HELP
from catalog.models import Capability
from catalog.readiness.readiness import MEND_HELP, Readiness

# Serializers of lookups: queries and responses.

KINDS = ("any", "all", *Capability.Kind.values)
MOST_NAMES = 100
MOST_ITEMS = 200
EXAMPLES = "Add examples to every level of detail; `full_schema` always has them."


class DetailQuerySerializer(CallerSerializer):
    """Query for a single capability."""

    detail = serializers.ChoiceField(DETAILS, default="full_schema", help_text="Level of detail.")
    examples = serializers.BooleanField(default=False, help_text=EXAMPLES)


class ListQuerySerializer(CallerSerializer):
    """Query for a list: filters and paging."""

    kind = serializers.ChoiceField(
        KINDS, default="any", help_text="`any` and `all` mean every kind."
    )
    category = serializers.CharField(default="", allow_blank=True, max_length=60)
    integration = serializers.CharField(
        default="", allow_blank=True, max_length=48, help_text="Its slug."
    )
    prefix = serializers.CharField(
        default="", allow_blank=True, max_length=64, help_text="Prefix of the full names."
    )
    query = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Words that must all occur in the names, description or tags.",
    )
    detail = serializers.ChoiceField(
        DETAILS, default="name_description", help_text="Level of detail for each."
    )
    examples = serializers.BooleanField(default=False, help_text=EXAMPLES)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=MOST_ITEMS)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class CategoriesQuerySerializer(CallerSerializer):
    """Query for categories."""

    names = serializers.IntegerField(
        default=20, min_value=0, max_value=MOST_ITEMS, help_text="Number of names given for each."
    )


class BatchRequestSerializer(CallerSerializer):
    """Full names to look up at once."""

    names = serializers.ListField(child=Text(max_length=200), min_length=1, max_length=MOST_NAMES)
    detail = serializers.ChoiceField(
        DETAILS, default="name_description", help_text="Level of detail for each."
    )
    examples = Flag(default=False, help_text=EXAMPLES)


class CapabilitySerializer(serializers.Serializer[Any]):
    """A capability at the requested level of detail."""

    id = serializers.CharField()
    full_name = serializers.CharField(help_text="The name that a model calls.")
    kind = serializers.ChoiceField(Capability.Kind.choices, required=False)
    integration = serializers.CharField(required=False)
    display_name = serializers.CharField(required=False)
    description = serializers.CharField(
        required=False, help_text="At most 60 characters below `compact_schema`."
    )
    category = serializers.CharField(required=False)
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices, required=False)
    effect_flags = serializers.ListField(
        child=serializers.ChoiceField(FLAGS), required=False, help_text=FLAGS_HELP
    )
    effect_confidence = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="Confidence in the side effect."
    )
    effect_evidence = serializers.DictField(
        required=False, help_text="Reasons for the side effect and for each flag."
    )
    access = serializers.ChoiceField(ACCESSES, required=False)
    readiness = serializers.ChoiceField(
        [state.value for state in Readiness], required=False, help_text="What a call would do now."
    )
    readiness_reason = serializers.CharField(
        required=False, help_text="Why it is not ready, or empty."
    )
    mend_path = serializers.CharField(required=False, help_text=MEND_HELP)
    tags = serializers.ListField(child=serializers.CharField(), required=False)
    core = serializers.BooleanField(required=False)
    pinned = serializers.BooleanField(required=False)
    tokens = serializers.IntegerField(help_text="Estimated tokens of this entry as it is here.")
    action = serializers.CharField(required=False)
    micro_schema = serializers.DictField(
        required=False, allow_null=True, help_text="The arguments in Pegboard's short notation."
    )
    input_schema = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="A JSON schema; at `compact_schema` without descriptions.",
    )
    output_schema = serializers.DictField(required=False, allow_null=True)
    content = serializers.CharField(required=False, help_text="A skill's Markdown.")
    examples = serializers.ListField(required=False)
    required_secrets = serializers.ListField(child=serializers.CharField(), required=False)
    required_tools = serializers.ListField(child=serializers.CharField(), required=False)
    parameters_summary = serializers.CharField(required=False)
    unavailable_reason = serializers.CharField(required=False)
    available_in_groups = serializers.IntegerField(
        required=False,
        help_text="The number of the caller's own groups in which they may use it; a key counts "
        "only groups that it works in.",
    )


class OneCapabilitySerializer(CapabilitySerializer):
    """A capability looked up by its name."""

    hint = serializers.CharField(help_text="Says so if its integration is not connected.")


class PageSerializer(serializers.Serializer[Any]):
    """A page of matching capabilities."""

    items = CapabilitySerializer(many=True)
    total = serializers.IntegerField(
        help_text="The number of matching capabilities that the caller may use."
    )
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class BatchSerializer(serializers.Serializer[Any]):
    """The found capabilities in the requested order, and the names not found."""

    found = CapabilitySerializer(many=True)
    not_found = serializers.ListField(child=serializers.CharField())
    hint = serializers.CharField(help_text="Says which of them are not connected.")


class CategorySerializer(serializers.Serializer[Any]):
    """A category with its number of capabilities and their first names."""

    category = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())
    more = serializers.IntegerField(help_text="Number of names left out.")


class CategoriesSerializer(serializers.Serializer[Any]):
    """The caller's categories."""

    categories = CategorySerializer(many=True)
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class BranchSerializer(serializers.Serializer[Any]):
    """An integration and its capabilities."""

    integration = serializers.CharField()
    title = serializers.CharField()
    capabilities = CapabilitySerializer(many=True)


class TreeSerializer(serializers.Serializer[Any]):
    """Integrations with their capabilities."""

    integrations = BranchSerializer(many=True)
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class NamesSerializer(serializers.Serializer[Any]):
    """All full names."""

    names = serializers.ListField(child=serializers.CharField())
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class CapabilitiesView(CallerView):
    """The list of capabilities."""

    @extend_schema(
        operation_id="list_capabilities",
        tags=["Capabilities"],
        summary="List capabilities",
        parameters=[ListQuerySerializer],
        responses={200: PageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of the caller's capabilities, by full name."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), ListQuerySerializer
        )
        paging = {name: query.pop(name) for name in ("detail", "examples", "limit", "offset")}
        page = catalog_queries.list_capabilities(
            caller=caller, filters=catalog_queries.CapabilityFilters(**query), **paging
        )
        return Response(asdict(page) | {"has_more": page.has_more})


class CapabilityView(CallerView):
    """A single capability."""

    @extend_schema(
        operation_id="get_capability",
        tags=["Capabilities"],
        summary="Get a capability",
        parameters=[DetailQuerySerializer],
        responses={200: OneCapabilitySerializer},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """Return a capability by full name. 404 if it is unknown or not the caller's."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), DetailQuerySerializer
        )
        capability = catalog_queries.get_capability(caller=caller, full_name=full_name, **query)
        if capability is None:
            raise Http404
        return Response(capability)


class BatchView(CallerView):
    """Several capabilities at once."""

    @extend_schema(
        operation_id="get_capabilities",
        tags=["Capabilities"],
        summary="Get several capabilities",
        request=BatchRequestSerializer,
        responses={200: BatchSerializer},
    )
    def post(self, request: Request) -> Response:
        """Return capabilities by full name, and the names not found."""
        caller, fields = self.read_parameters(request, request.data, BatchRequestSerializer)
        return Response(asdict(catalog_queries.get_batch(caller=caller, **fields)))


class CategoriesView(CallerView):
    """Categories."""

    @extend_schema(
        operation_id="list_categories",
        tags=["Capabilities"],
        summary="List categories",
        parameters=[CategoriesQuerySerializer],
        responses={200: CategoriesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return the caller's categories, with counts and first names."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), CategoriesQuerySerializer
        )
        summaries, hint = catalog_queries.list_categories(caller=caller)
        categories = [_category(summary, query["names"]) for summary in summaries]
        return Response({"categories": categories, "hint": hint})


class TreeView(CallerView):
    """The tree of integrations and capabilities."""

    @extend_schema(
        operation_id="get_tree",
        tags=["Capabilities"],
        summary="List integrations with their capabilities",
        parameters=[CallerSerializer],
        responses={200: TreeSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return the caller's capabilities by integration."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        branches, hint = catalog_queries.build_tree(caller=caller)
        return Response({"integrations": [asdict(branch) for branch in branches], "hint": hint})


class NamesView(CallerView):
    """List all full names."""

    @extend_schema(
        operation_id="list_names",
        tags=["Capabilities"],
        summary="List all full names",
        parameters=[CallerSerializer],
        responses={200: NamesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return the full names of all the caller's capabilities."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        names, hint = catalog_queries.list_names(caller=caller)
        return Response({"names": names, "hint": hint})


class StatisticsView(CallerView):
    """Statistics of the caller's catalogue."""

    @extend_schema(
        operation_id="get_statistics",
        tags=["Capabilities"],
        summary="Get statistics of the caller's catalogue",
        parameters=[CallerSerializer],
        responses={200: serializer_for(catalog_queries.Statistics)},
    )
    def get(self, request: Request) -> Response:
        """Return counts of the caller's capabilities, and how many are embedded."""
        caller, _ = self.read_parameters(request, request.query_params.dict(), CallerSerializer)
        return Response(asdict(catalog_queries.statistics(caller=caller)))


def _category(summary: catalog_queries.CategorySummary, most: int) -> dict[str, Any]:
    return {
        "category": summary.category,
        "count": len(summary.names),
        "names": summary.names[:most],
        "more": max(0, len(summary.names) - most),
    }
