"""Granting of access requests."""

from django.contrib.auth.models import User
from django.db import transaction

from acl.models import AccessRequest
from acl.rights.access_requests import grant_request
from catalog.access.grants import grant
from catalog.models import Capability, Integration


@transaction.atomic
def grant_requested(
    *,
    by: User,
    request: AccessRequest,
    target: Integration | Capability,
    to_group: bool,
    note: str,
) -> AccessRequest:
    """Grant `target` to the person, or to the request's group, and answer the request."""
    answered = grant_request(by=by, request=request, note=note)
    if to_group:
        grant(by=by, target=target, group=request.group)
    else:
        grant(by=by, target=target, user=request.user)
    return answered
