"""What the calls about installations share: reading a request, refusing it, telling of one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import exceptions
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from acl.api.problems import CONTENT_TYPE
from acl.api.serializers import ProblemSerializer, StrictSerializer
from catalog.mcp_client.commands import CommandNotAllowedError
from catalog.outgoing.problems import EndpointNotAllowedError
from catalog.services.secrets import UnusableSecretError
from marketplace.api import installation_serializers as bodies
from marketplace.api.admins import Conflict
from marketplace.models import Installation
from marketplace.services import installs, managing

# What a preview shows of a descriptor.
SHOWN = ("version", "transport", "endpoint", "command", "required_secrets")
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
PROBLEMS = {(status, CONTENT_TYPE): ProblemSerializer for status in (400, 403, 404, 409, 422)}
IDEMPOTENCY = OpenApiParameter(
    "Idempotency-Key",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The same key for the same request is the same installation, told again. With "
    "another request it is a 422; while the first is being answered, a 409.",
)


class Unprocessable(exceptions.APIException):
    """The request contradicts an earlier one, or what is allowed."""

    status_code = 422


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """What the services refuse, as the statuses that clients know."""
    try:
        yield
    except (installs.AlreadyThereError, installs.InProgressError) as problem:
        raise Conflict(str(problem) or None) from problem
    except (managing.NotReadyError, installs.OtherAddressError) as problem:
        raise Conflict(str(problem)) from problem
    except installs.OtherRequestError as problem:
        raise Unprocessable(str(problem)) from problem
    except installs.ListingHeldError as problem:
        raise exceptions.PermissionDenied(str(problem)) from problem
    except installs.NotPermittedError as problem:
        words = "This takes the permission to install programs, and the digest of the command."
        raise exceptions.PermissionDenied(words) from problem
    except (CommandNotAllowedError, EndpointNotAllowedError) as problem:
        raise exceptions.ValidationError({"listing": [str(problem)]}) from problem
    except UnusableSecretError as problem:
        raise exceptions.ValidationError({"secrets": [str(problem)]}) from problem


def all_installations() -> QuerySet[Installation]:
    """The newest first."""
    return Installation.objects.select_related("integration", "by").order_by("-created_at", "-pk")


def one(pk: UUID) -> Installation:
    """The one of that id, or a 404."""
    return get_object_or_404(all_installations(), public_id=pk)


def told(installation: Installation, *, status: int = 200) -> Response:
    """An installation as an answer."""
    return Response(bodies.InstallationSerializer(installation).data, status=status)


def valid(serializer: type[StrictSerializer], data: Any) -> dict[str, Any]:
    """What was sent, as the serializer reads it; or a 400."""
    checked = serializer(data=data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def key_of(request: Request) -> str:
    """Its idempotency key; "" without one."""
    key = request.headers.get("Idempotency-Key", "")
    if key and not _KEY.fullmatch(key):
        reason = "It has 1 to 255 characters, without blanks."
        raise exceptions.ValidationError({"Idempotency-Key": [reason]})
    return key
