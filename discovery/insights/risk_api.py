"""REST API of risks, for admins of the whole deployment."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from acl.rights.precedence_sql import EFFECTS
from acl.web.api_views import AdminView
from acl.web.problems import CONTENT_TYPE
from acl.web.serializers import ProblemSerializer, serializer_for
from catalog.access.change_preview import Change
from discovery.insights._risk_report import GuardedCall, read_risks

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
