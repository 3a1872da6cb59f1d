"""The line that a new key can be tried with at once. It holds the key, so it is shown where the key
is, this once."""

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
    """A call that the key may make; nothing where there is nobody yet that it could act for."""
    asked = {}
    if key.owner is None and set(key.scopes) != {ApiKey.Scope.ADMIN}:
        user = _somebody_in(key, by)
        if not user:
            return ""
        asked = {"user": user}
    if ApiKey.Scope.SELECT in key.scopes:
        return curl(request=request, body={"message": MESSAGES[0], **asked}, key=raw)
    return _get(request, key, raw, asked)


def _somebody_in(key: ApiKey, by: User) -> str:
    """Of those that the key may act for: whoever makes it, or else the first."""
    people = User.objects.filter(is_active=True, service_account=None)
    if not key.all_groups:
        people = people.filter(groups__in=key.groups.all()).distinct()
    names = list(people.order_by("username").values_list("username", flat=True)[:1])
    own = people.filter(pk=by.pk).exists()
    return by.get_username() if own else "".join(names)


@sensitive_variables("raw")
def _get(request: HttpRequest, key: ApiKey, raw: str, asked: dict[str, str]) -> str:
    route = {
        ApiKey.Scope.DISCOVER: "api-categories",
        ApiKey.Scope.EXECUTE: "api-meta",
        ApiKey.Scope.ADMIN: "api-keys",
    }
    scope = next(scope for scope in route if scope in key.scopes)
    query = f"?{urlencode(asked)}" if asked and scope == ApiKey.Scope.DISCOVER else ""
    address = request.build_absolute_uri(reverse(route[scope])) + query
    return f'curl {shlex.quote(address)} \\\n  -H "Authorization: Bearer {raw}"'
