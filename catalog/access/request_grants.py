"""An admin says yes to a request, and the person has what they asked for."""

from django.contrib.auth.models import User
from django.db import transaction

from acl.models import AccessRequest
from acl.rights.access_requests import grant_request
from catalog.access.grants import grant
from catalog.models import Capability, Integration


@transaction.atomic
def give_what_was_asked(
    *,
    by: User,
    request: AccessRequest,
    target: Integration | Capability,
    to_group: bool,
    note: str,
) -> AccessRequest:
    """Give `target` to the person, or to the group for which they asked, and answer them."""
    answered = grant_request(by=by, request=request, note=note)
    if to_group:
        grant(by=by, target=target, group=request.group)
    else:
        grant(by=by, target=target, user=request.user)
    return answered
