"""API of lookups: lists, single capabilities, categories, the tree, statistics."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from acl.web.answer_serializer import serializer_for
from acl.web.api_views import CallerSerializer, CallerView
from catalog.capabilities import catalog_queries, lookup_serializers


class CapabilitiesView(CallerView):
    """The list of capabilities."""

    @extend_schema(
        operation_id="list_capabilities",
        tags=["Capabilities"],
        summary="List capabilities",
        parameters=[lookup_serializers.ListQuerySerializer],
        responses={200: lookup_serializers.PageSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return a page of the caller's capabilities, by full name."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), lookup_serializers.ListQuerySerializer
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
        parameters=[lookup_serializers.DetailQuerySerializer],
        responses={200: lookup_serializers.OneCapabilitySerializer},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """Return a capability by full name. 404 if it is unknown or not the caller's."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), lookup_serializers.DetailQuerySerializer
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
        request=lookup_serializers.BatchRequestSerializer,
        responses={200: lookup_serializers.BatchSerializer},
    )
    def post(self, request: Request) -> Response:
        """Return capabilities by full name, and the names not found."""
        caller, fields = self.read_parameters(
            request, request.data, lookup_serializers.BatchRequestSerializer
        )
        return Response(asdict(catalog_queries.get_batch(caller=caller, **fields)))


class CategoriesView(CallerView):
    """Categories."""

    @extend_schema(
        operation_id="list_categories",
        tags=["Capabilities"],
        summary="List categories",
        parameters=[lookup_serializers.CategoriesQuerySerializer],
        responses={200: lookup_serializers.CategoriesSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return the caller's categories, with counts and first names."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), lookup_serializers.CategoriesQuerySerializer
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
        responses={200: lookup_serializers.TreeSerializer},
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
        responses={200: lookup_serializers.NamesSerializer},
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
