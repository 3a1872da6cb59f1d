"""REST API of outcome windows, alerts and figures, for admins.

A key sees its own group; staff see all groups, or the one that they name.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey, Application, Space
from acl.rights.caller_lookup import CallerRefused
from acl.rights.delegation.authority import KeyHolder
from acl.web.request_callers import named_application, own_group, principal_of
from discovery.insights._scope import InsightsScope, list_application_windows
from discovery.insights.figures import report_figures
from discovery.turns import serializers as bodies
from discovery.turns.outcome_windows import read_stored_windows
from discovery.turns.outcomes import list_alerts

DEFAULT_PERIOD = timedelta(days=30)
LONGEST = timedelta(days=366)
LONGEST_BY_HOUR = timedelta(days=8)
LONGEST_BY_TOOL = timedelta(days=92)


class WindowsView(APIView):
    """Outcome windows."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_outcome_windows",
        tags=["Figures"],
        summary="List outcome windows",
        parameters=[bodies.GroupQuerySerializer],
        responses={200: bodies.WindowsSerializer},
    )
    def get(self, request: Request) -> Response:
        """List the outcome windows by group and space."""
        serializer = bodies.GroupQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        group = find_named_group(request, serializer.validated_data["group"])
        windows = read_stored_windows(group.pk if group else None)
        windows += list_application_windows(group.pk if group else None)
        places = _places(
            (window.scope.group_id, window.scope.space_id, window.scope.application_id)
            for window in windows
        )
        rows = [
            {**bodies.OutcomeWindowSerializer(window).data, "place": place}
            for window, place in zip(windows, places, strict=True)
        ]
        return Response({"windows": rows})


class AlertsView(APIView):
    """Outcome alerts."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="list_outcome_alerts",
        tags=["Figures"],
        summary="List alerts",
        parameters=[bodies.AlertsQuerySerializer],
        responses={200: bodies.AlertsSerializer},
    )
    def get(self, request: Request) -> Response:
        """List alerts, newest first."""
        serializer = bodies.AlertsQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        group = find_named_group(request, values["group"])
        alerts = list_alerts(group.pk if group else None)
        limit, offset = values["limit"], values["offset"]
        page_alerts = list(alerts[offset : offset + limit])
        places = _places(
            (alert.group_id, alert.space_id, alert.application_id) for alert in page_alerts
        )
        rows = [
            {**bodies.AlertSerializer(alert).data, "place": place}
            for alert, place in zip(page_alerts, places, strict=True)
        ]
        page = {"total": alerts.count(), "limit": limit, "offset": offset}
        return Response({"alerts": rows, **page})


class FiguresView(APIView):
    """Figures of success."""

    required_scope = ApiKey.Scope.ADMIN

    @extend_schema(
        operation_id="get_figures",
        tags=["Figures"],
        summary="Get the figures of success",
        parameters=[bodies.FiguresByQuerySerializer],
        responses={200: bodies.ReportSerializer},
    )
    def get(self, request: Request) -> Response:
        """Return token savings, hits, discovery and latency, each with its target.

        They cover the whole period, the one before, and each day or hour.
        """
        serializer = bodies.FiguresByQuerySerializer(data=request.query_params.dict())
        serializer.is_valid(raise_exception=True)
        values = serializer.validated_data
        since, until = read_period(
            values, longest=LONGEST if values["by"] == "day" else LONGEST_BY_HOUR
        )
        group = find_named_group(request, values["group"])
        report = report_figures(
            since=since,
            until=until,
            group_id=group.pk if group else None,
            application_id=named_application(request, values["application"]),
            by=values["by"],
        )
        body = bodies.ReportSerializer(
            {
                **{name: getattr(report, name) for name in report.__slots__},
                "group": group and group.name,
            }
        ).data
        return Response(body)


def read_period(values: dict[str, Any], *, longest: timedelta) -> tuple[datetime, datetime]:
    """Return the requested period, or the default one."""
    until = values.get("until") or timezone.now()
    since = values.get("since") or until - min(DEFAULT_PERIOD, longest)
    if not timedelta() < until - since <= longest:
        raise ValidationError({"since": f"Must be before `until`, by {longest.days} days at most."})
    return since, until


def read_scope(request: Request, values: dict[str, Any]) -> tuple[InsightsScope, str | None]:
    """Return what the figures of tools and calls cover, and the name of its group, if one."""
    since, until = read_period(values, longest=LONGEST_BY_TOOL)
    group = find_named_group(request, values["group"])
    scope = InsightsScope(
        since=since,
        until=until,
        group_id=group.pk if group else None,
        application_id=named_application(request, values["application"]),
        restricted=isinstance(principal_of(request), KeyHolder),
    )
    return scope, group.name if group else None


def find_named_group(request: Request, name: str) -> Group | None:
    """Return the named group, or the key's own; None for all. A key has access to its own only."""
    key_group = own_group(request, name)
    if key_group is None and not name:
        return None
    groups = Group.objects.all() if key_group is None else Group.objects.filter(pk=key_group)
    group = (groups.filter(name=name) if name else groups).first()
    if group is None:
        raise CallerRefused
    return group


def _places(
    keys: Iterable[tuple[int | None, int | None, int | None]],
) -> list[dict[str, str | None]]:
    """Return the names of groups, spaces and applications; None for deleted ones."""
    places = list(keys)
    groups = Group.objects.in_bulk([group for group, _, _ in places if group])
    spaces = Space.objects.in_bulk([space for _, space, _ in places if space])
    applications = Application.objects.in_bulk([key for _, _, key in places if key])
    return [
        {
            "group": groups[group].name if group in groups else None,
            "space": spaces[space].slug if space in spaces else None,
            "application": applications[key].name if key in applications else None,
        }
        for group, space, key in places
    ]
