"""Conversion of validated requests with a message into selection requests."""

from dataclasses import replace
from typing import Any

from django.conf import settings
from drf_spectacular.utils import OpenApiExample
from rest_framework.request import Request

from acl.http.request_callers import caller_of
from discovery.select.selection import Asked


def asked_about(request: Request, body: dict[str, Any]) -> Asked:
    """Convert a validated `MessageSerializer`, for a caller that the request may act for."""
    caller = caller_of(
        request, user=body.get("user"), group=body.get("group"), space=body.get("space")
    )
    return Asked(
        message=body["message"],
        caller=caller,
        history=tuple(body.get("history", ())),
        kind=body["kind"],
        use_graph=body["use_graph"],
    )


def asked_to_select(request: Request, body: dict[str, Any]) -> Asked:
    """Convert a validated `SelectRequestSerializer`."""
    return replace(
        asked_about(request, body),
        max_tools=body.get("max_tools", settings.PEGBOARD_MAX_TOOLS),
        only_available=body["only_available"],
    )


def example(**options: Any) -> OpenApiExample:
    """Return an example request for the API documentation, with the call's further fields."""
    message = {"message": "mail the team that the release is out", "user": "alice"}
    return OpenApiExample("A message from alice", value=message | options, request_only=True)
