"""GET what there is: lists, single capabilities, categories, the tree, figures."""

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.http.request_callers import caller_of
from acl.models import ApiKey
from acl.rights.caller import Caller
from catalog.lookups import catalog_queries, lookup_serializers


class LookupView(APIView):
    """A question for a caller; the query or body says for whom."""

    required_scope: str | dict[str, str] = ApiKey.Scope.DISCOVER

    def asked(
        self, request: Request, data: Any, form: type[lookup_serializers.CallerSerializer]
    ) -> tuple[Caller, dict[str, Any]]:
        """The caller, and what else the request says; refuses what the form refuses."""
        serializer = form(data=data)
        serializer.is_valid(raise_exception=True)
        wanted = dict(serializer.validated_data)
        named: dict[str, Any] = {
            name: wanted.pop(name, None) or None for name in ("user", "group", "space")
        }
        return caller_of(request, **named), wanted


class CapabilitiesView(LookupView):
    """The list."""

    @extend_schema(
        operation_id="list_capabilities",
        tags=["Capabilities"],
        summary="List capabilities",
        parameters=[lookup_serializers.ListQuerySerializer],
        responses={200: lookup_serializers.PageSerializer},
    )
    def get(self, request: Request) -> Response:
        """What the caller may use, by full name, a page at a time."""
        caller, wanted = self.asked(
            request, request.query_params.dict(), lookup_serializers.ListQuerySerializer
        )
        paging = {name: wanted.pop(name) for name in ("detail", "examples", "limit", "offset")}
        page = catalog_queries.list_capabilities(
            caller=caller, filters=catalog_queries.Filters(**wanted), **paging
        )
        return Response(asdict(page) | {"has_more": page.has_more})


class CapabilityView(LookupView):
    """One capability."""

    @extend_schema(
        operation_id="get_capability",
        tags=["Capabilities"],
        summary="Look up one capability",
        parameters=[lookup_serializers.DetailQuerySerializer],
        responses={200: lookup_serializers.OneCapabilitySerializer},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """A capability by its full name; 404 alike for an unknown one and somebody else's."""
        caller, wanted = self.asked(
            request, request.query_params.dict(), lookup_serializers.DetailQuerySerializer
        )
        found = catalog_queries.get_capability(caller=caller, full_name=full_name, **wanted)
        if found is None:
            raise Http404
        return Response(found)


class BatchView(LookupView):
    """Several capabilities at once."""

    @extend_schema(
        operation_id="get_capabilities",
        tags=["Capabilities"],
        summary="Look up several capabilities",
        request=lookup_serializers.BatchRequestSerializer,
        responses={200: lookup_serializers.BatchSerializer},
    )
    def post(self, request: Request) -> Response:
        """Capabilities by full name, and the names that the caller has none by."""
        caller, wanted = self.asked(
            request, request.data, lookup_serializers.BatchRequestSerializer
        )
        return Response(asdict(catalog_queries.get_batch(caller=caller, **wanted)))


class CategoriesView(LookupView):
    """Categories."""

    @extend_schema(
        operation_id="list_categories",
        tags=["Capabilities"],
        summary="List categories",
        parameters=[lookup_serializers.CategoriesQuerySerializer],
        responses={200: lookup_serializers.CategoriesSerializer},
    )
    def get(self, request: Request) -> Response:
        """The categories in which the caller has something, with counts."""
        caller, wanted = self.asked(
            request, request.query_params.dict(), lookup_serializers.CategoriesQuerySerializer
        )
        summaries, hint = catalog_queries.list_categories(caller=caller)
        categories = [_category(summary, wanted["names"]) for summary in summaries]
        return Response({"categories": categories, "hint": hint})


class TreeView(LookupView):
    """The tree."""

    @extend_schema(
        operation_id="get_tree",
        tags=["Capabilities"],
        summary="Integrations and their capabilities",
        parameters=[lookup_serializers.CallerSerializer],
        responses={200: lookup_serializers.TreeSerializer},
    )
    def get(self, request: Request) -> Response:
        """Everything that the caller may use, by integration."""
        caller, _ = self.asked(
            request, request.query_params.dict(), lookup_serializers.CallerSerializer
        )
        branches, hint = catalog_queries.build_tree(caller=caller)
        return Response({"integrations": [asdict(branch) for branch in branches], "hint": hint})


class NamesView(LookupView):
    """All names."""

    @extend_schema(
        operation_id="list_names",
        tags=["Capabilities"],
        summary="All full names",
        parameters=[lookup_serializers.CallerSerializer],
        responses={200: lookup_serializers.NamesSerializer},
    )
    def get(self, request: Request) -> Response:
        """The full name of everything that the caller may use."""
        caller, _ = self.asked(
            request, request.query_params.dict(), lookup_serializers.CallerSerializer
        )
        names, hint = catalog_queries.list_names(caller=caller)
        return Response({"names": names, "hint": hint})


class StatisticsView(LookupView):
    """Figures."""

    @extend_schema(
        operation_id="get_statistics",
        tags=["Capabilities"],
        summary="Figures about the caller's catalogue",
        parameters=[lookup_serializers.CallerSerializer],
        responses={200: lookup_serializers.StatisticsSerializer},
    )
    def get(self, request: Request) -> Response:
        """How much the caller may use, and how much of it is embedded."""
        caller, _ = self.asked(
            request, request.query_params.dict(), lookup_serializers.CallerSerializer
        )
        return Response(asdict(catalog_queries.statistics(caller=caller)))


def _category(summary: catalog_queries.CategorySummary, most: int) -> dict[str, Any]:
    return {
        "category": summary.category,
        "count": len(summary.names),
        "names": summary.names[:most],
        "more": max(0, len(summary.names) - most),
    }
