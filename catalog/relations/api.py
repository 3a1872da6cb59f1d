"""API of relations: neighbours per caller, and edges set by admins."""

from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import Group
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from acl.models import ApiKey
from acl.web.api_views import CallerSerializer, DecidingView
from acl.web.request_callers import person_of
from acl.web.serializers import Text
from catalog.capabilities.catalog_queries import describe_disconnected
from catalog.capabilities.detail_levels import ACCESSES, access_of, readiness_parts
from catalog.models import Capability, Edge
from catalog.readiness.readiness import COLUMNS, MEND_HELP, Readiness, ToolReadiness, tell_approvers
from catalog.relations.neighbours import Neighbour
from catalog.relations.relations import EdgeRefused, find_neighbours, relate, unrelate


class TypeQuerySerializer(CallerSerializer):
    """Filter for neighbours."""

    type = serializers.ChoiceField(
        Edge.Kind.choices, required=False, help_text="The type of relation; defaults to all types."
    )


class EdgeRequestSerializer(CallerSerializer):
    """An edge from the capability in the URL to another usable capability."""

    target = Text(max_length=64, help_text="Its full name.")
    type = serializers.ChoiceField(Edge.Kind.choices)


class NewEdgeSerializer(EdgeRequestSerializer):
    """An edge with its weight."""

    weight = serializers.FloatField(min_value=0, max_value=1, default=1.0)


class NeighbourSerializer(serializers.Serializer[Any]):
    """A related capability."""

    id = serializers.CharField()
    full_name = serializers.CharField()
    kind = serializers.ChoiceField(Capability.Kind.choices)
    integration = serializers.CharField()
    access = serializers.ChoiceField(ACCESSES)
    readiness = serializers.ChoiceField([state.value for state in Readiness])
    readiness_reason = serializers.CharField(
        required=False, help_text="Why it is not ready, or empty."
    )
    mend_path = serializers.CharField(required=False, help_text=MEND_HELP)
    type = serializers.ChoiceField(Edge.Kind.choices)
    weight = serializers.FloatField(min_value=0, max_value=1)
    origin = serializers.ChoiceField(Edge.Origin.choices)
    direction = serializers.ChoiceField(
        ["out", "in", "both"], help_text="`out`: the requested capability depends on this one."
    )


class NeighboursSerializer(serializers.Serializer[Any]):
    """Usable neighbours, at most 20 of each type, strongest first."""

    full_name = serializers.CharField()
    neighbours = NeighbourSerializer(many=True)
    hint = serializers.CharField(
        help_text="The capabilities left out because their integrations are not connected."
    )


class EdgeSerializer(serializers.Serializer[Any]):
    """An edge set by an admin."""

    # The metaclass collects fields, so this does not override Field.source.
    source = serializers.CharField()  # type: ignore[assignment]
    target = serializers.CharField()
    type = serializers.ChoiceField(Edge.Kind.choices)
    weight = serializers.FloatField()
    origin = serializers.CharField()
    for_group = serializers.CharField(
        allow_null=True,
        help_text="The group to whose callers the relation is limited; null for everyone.",
    )


class GraphView(DecidingView):
    """The relations of one capability."""

    required_scope = {
        "GET": ApiKey.Scope.DISCOVER,
        "POST": ApiKey.Scope.ADMIN,
        "DELETE": ApiKey.Scope.ADMIN,
    }

    @extend_schema(
        operation_id="get_neighbours",
        tags=["Capabilities"],
        summary="List a capability's relations",
        parameters=[TypeQuerySerializer],
        responses={200: NeighboursSerializer},
    )
    def get(self, request: Request, full_name: str) -> Response:
        """Return the usable neighbours. 404 if the capability is unknown or not the caller's."""
        caller, query = self.read_parameters(
            request, request.query_params.dict(), TypeQuerySerializer
        )
        neighbourhood = find_neighbours(
            caller=caller, full_name=full_name, kind=query.get("type", "")
        )
        if neighbourhood is None:
            raise Http404
        readinesses = tell_approvers(
            [neighbour.readiness for neighbour in neighbourhood.neighbours], caller.user_id
        )
        body = {
            "full_name": full_name,
            "neighbours": [
                _neighbour_body(neighbour, ready)
                for neighbour, ready in zip(neighbourhood.neighbours, readinesses, strict=True)
            ],
        }
        disconnected = {neighbour.full_name: neighbour for neighbour in neighbourhood.disconnected}
        return Response(body | {"hint": describe_disconnected(disconnected.values())})

    @extend_schema(
        operation_id="add_edge",
        tags=["Capabilities"],
        summary="Create a relation",
        request=NewEdgeSerializer,
        responses={200: EdgeSerializer, 201: EdgeSerializer},
    )
    def post(self, request: Request, full_name: str) -> Response:
        """Set an edge between two usable capabilities (admins only).

        The weight overrides computed ones. Staff set it for everyone, a key for its group's
        callers.
        """
        source, target, group, fields = self._ends(
            request, request.data, full_name, NewEdgeSerializer
        )
        try:
            edge, is_new = relate(
                by=person_of(request),
                source=source,
                target=target,
                kind=fields["type"],
                weight=fields["weight"],
                group=group,
            )
        except EdgeRefused as refused:
            raise ValidationError({"target": str(refused)}) from refused
        edge_body = {"type": edge.kind, "weight": edge.weight, "origin": edge.origin}
        for_group = group.name if group else None
        body = {"source": full_name, "target": str(target), **edge_body, "for_group": for_group}
        return Response(body, status=201 if is_new else 200)

    @extend_schema(
        operation_id="remove_edge",
        tags=["Capabilities"],
        summary="Remove a relation",
        parameters=[EdgeRequestSerializer],
        request=None,
        responses={204: None},
    )
    def delete(self, request: Request, full_name: str) -> Response:
        """Remove an edge (admins only), including one from a source or a preset.

        Staff remove it for everyone, a key for its group's callers.
        """
        query = request.query_params.dict()
        source, target, group, fields = self._ends(request, query, full_name, EdgeRequestSerializer)
        try:
            was_there = unrelate(
                by=person_of(request),
                source=source,
                target=target,
                kind=fields["type"],
                group=group,
            )
        except EdgeRefused as refused:
            raise ValidationError({"target": str(refused)}) from refused
        if not was_there:
            raise Http404
        return Response(status=204)

    def _ends(
        self, request: Request, data: Any, full_name: str, form: type[CallerSerializer]
    ) -> tuple[Capability, Capability, Group | None, dict[str, Any]]:
        """Return both ends and the group decided for, or 404 unless the caller can use both."""
        caller, group, fields = self.read_decision(request, data, form)
        names = (full_name, fields["target"])
        ends = Capability.objects.filter(full_name__in=names)
        rows = Capability.objects.usable_by(caller, among=ends)
        by_name = {row.full_name: row for row in rows}
        if any(name not in by_name for name in names):
            raise Http404
        return by_name[names[0]], by_name[names[1]], group, fields


def _neighbour_body(neighbour: Neighbour, readiness: ToolReadiness) -> dict[str, Any]:
    body = {name: value for name, value in asdict(neighbour).items() if name not in COLUMNS}
    return {
        "id": body.pop("identifier"),
        **body,
        "access": access_of(neighbour.asks_first),
        **readiness_parts(
            readiness, integration=neighbour.integration, full_name=neighbour.full_name
        ),
    }
