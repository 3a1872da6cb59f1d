"""Refusals that several APIs share, by their status; `problems.py` gives them their `type`."""

from rest_framework import exceptions


class Conflict(exceptions.APIException):
    """HTTP 409: the resource is not in the state that the request expects."""

    status_code = 409


class Unprocessable(exceptions.APIException):
    """HTTP 422: the request contradicts an earlier one, or is not allowed."""

    status_code = 422


class QueueFull(exceptions.APIException):
    """HTTP 429: the person has as many pending calls as allowed."""

    status_code = 429
