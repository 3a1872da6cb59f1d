"""Findings of the scanner, as the API returns them."""

from typing import Any

from rest_framework import serializers


class FindingSerializer(serializers.Serializer[Any]):
    """A finding of the scanner: its kind, its severity and its place."""

    code = serializers.CharField()
    severity = serializers.CharField(help_text="`high`, `medium` or `low`.")
    where = serializers.CharField(help_text="The place in the definition.")
    told = serializers.CharField()
    excerpt = serializers.CharField()
