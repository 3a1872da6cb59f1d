"""REST API of outcome windows, alerts, figures and risks, for admins.

A key sees its own group; staff see all groups, or the one that they name. Risks are for admins of
the whole deployment.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from acl.models import ApiKey, Application, Space
from acl.rights.caller_lookup import CallerRefused
from acl.rights.delegation.authority import KeyHolder
from acl.rights.precedence import EFFECTS
from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.request_callers import named_application, own_group, principal_of
from acl.web.serializers import ProblemSerializer, serializer_for
from catalog.access.change_preview import Change
from discovery.insights._risk_report import GuardedCall, read_risks
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


_PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (401, 403)}


class LegToolsSerializer(serializers.Serializer[Any]):
    """Tools of one integration."""

    integration = serializers.CharField(source="slug")
    tools = serializers.ListField(child=serializers.CharField())


class LegsSerializer(serializers.Serializer[Any]):
    """Tools for each of the three, by integration."""

    reads_private_data = LegToolsSerializer(many=True)
    returns_foreign_text = LegToolsSerializer(many=True)
    reaches_outside = LegToolsSerializer(many=True)


class SeparatingRuleSerializer(serializers.Serializer[Change]):
    """A rule of the smallest change, with the fields of `POST /access/rules`."""

    group = serializers.CharField(source="space.group.name")
    space = serializers.CharField(source="space.slug")
    effect = serializers.SerializerMethodField()
    capability = serializers.CharField(source="target.full_name")
    for_user = serializers.CharField(source="user.username", allow_null=True, default=None)

    def get_effect(self, change: Change) -> str:
        """Return the effect's name."""
        return EFFECTS[change.effect] if change.effect is not None else ""


class ExposureSerializer(serializers.Serializer[Any]):
    """A group whose members hold all three without a person asked."""

    group = serializers.CharField(source="group.name")
    people = serializers.ListField(
        child=serializers.CharField(), help_text="Only these people; empty if all members do."
    )
    spaces = serializers.ListField(
        child=serializers.CharField(), help_text="Only in these spaces; empty if everywhere."
    )
    flags = LegsSerializer(source="legs")
    separated_at = serializers.CharField(help_text="The flag whose tools would ask first.")
    rules = SeparatingRuleSerializer(
        source="changes", many=True, help_text="The smallest change that separates the three."
    )


class RiskyProgramSerializer(serializers.Serializer[Any]):
    """A program without a cell, or with the whole network."""

    integration = serializers.CharField(source="slug")
    kind = serializers.ChoiceField(["no_cell", "container", "whole_network"])
    enabled = serializers.BooleanField()


class TriedHostSerializer(serializers.Serializer[Any]):
    """Attempts of a program to reach a host."""

    integration = serializers.CharField(source="integration.slug")
    host = serializers.CharField()
    times = serializers.IntegerField()
    last_at = serializers.DateTimeField()


class ChangedKindSerializer(serializers.Serializer[Any]):
    """Tools that differ in one way."""

    kind = serializers.CharField()
    tools = serializers.ListField(child=serializers.CharField())


class ChangedDefinitionsSerializer(serializers.Serializer[Any]):
    """Definitions that one reading of a server found to differ."""

    at = serializers.DateTimeField()
    integration = serializers.CharField()
    changes = ChangedKindSerializer(many=True)


class RisksSerializer(serializers.Serializer[Any]):
    """Risks, the newest 50 of each list; counts are of the last 30 days."""

    groups = ExposureSerializer(many=True)
    not_worked_out = serializers.IntegerField(
        help_text="Number of people with rights of their own that were not checked."
    )
    cells = serializers.CharField(help_text="The state of cells in words; empty if all is well.")
    programs = RiskyProgramSerializer(many=True)
    refused_hosts = TriedHostSerializer(many=True)
    reached_hosts = TriedHostSerializer(many=True)
    guard = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of calls by outcome."
    )
    guarded_calls = serializer_for(GuardedCall)(many=True)
    changed_definitions = ChangedDefinitionsSerializer(many=True)


class RisksView(AdminView):
    """Risks that an admin can lower."""

    @extend_schema(
        operation_id="get_risks",
        tags=["Figures"],
        summary="Get risks",
        responses={200: RisksSerializer, **_PROBLEMS},
    )
    def get(self, request: Request) -> Response:
        """List groups that hold private data, strangers' text and ways outside together.

        Also programs without a cell, hosts they tried, calls the guard asked about, and
        definitions that changed.
        """
        report = read_risks()
        changed = [
            {
                "at": change.at,
                "integration": change.integration,
                "changes": [{"kind": kind, "tools": names} for kind, names in change.kinds],
            }
            for change in report.changed
        ]
        body = {
            "groups": report.exposed.exposures,
            "not_worked_out": report.exposed.not_worked_out,
            "cells": report.cells.words,
            "programs": report.programs,
            "refused_hosts": report.refused,
            "reached_hosts": report.reached,
            "guard": report.outcomes,
            "guarded_calls": report.guarded,
            "changed_definitions": changed,
        }
        return Response(RisksSerializer(body).data)
