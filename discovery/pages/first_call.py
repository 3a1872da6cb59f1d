"""The example request shown with a new key. It contains the key, so it is shown only once."""

import shlex
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from acl.models import ApiKey
from discovery.pages.outputs import curl
from discovery.pages.sample_messages import MESSAGES


@sensitive_variables("raw")
def first_call(request: HttpRequest, key: ApiKey, raw: str, by: User) -> str:
    """Return a curl command for the key; "" if it has no user to act for, or only registers."""
    caller = {}
    if key.owner is None and set(key.scopes) != {ApiKey.Scope.ADMIN}:
        user = _find_user(key, by)
        if not user:
            return ""
        caller = {"user": user}
    if ApiKey.Scope.SELECT in key.scopes:
        return curl(request=request, body={"message": MESSAGES[0], **caller}, key=raw)
    return _get(request, key, raw, caller)


def _find_user(key: ApiKey, by: User) -> str:
    """Return a user that the key may act for: its creator if possible, or else the first."""
    people = User.objects.filter(is_active=True, service_account=None)
    if not key.all_groups:
        people = people.filter(groups__in=key.groups.all()).distinct()
    names = list(people.order_by("username").values_list("username", flat=True)[:1])
    own = people.filter(pk=by.pk).exists()
    return by.get_username() if own else "".join(names)


@sensitive_variables("raw")
def _get(request: HttpRequest, key: ApiKey, raw: str, caller: dict[str, str]) -> str:
    route = {
        ApiKey.Scope.DISCOVER: "api-categories",
        ApiKey.Scope.EXECUTE: "api-meta",
        ApiKey.Scope.ADMIN: "api-keys",
    }
    scope = next((scope for scope in route if scope in key.scopes), None)
    if scope is None:
        return ""  # a key that only registers: its example is in docs/sources.md
    query = f"?{urlencode(caller)}" if caller and scope == ApiKey.Scope.DISCOVER else ""
    address = request.build_absolute_uri(reverse(route[scope])) + query
    return f'curl {shlex.quote(address)} \\\n  -H "Authorization: Bearer {raw}"'
