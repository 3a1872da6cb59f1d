"""The admin's own content policy: its scripts and styles come from a package and need more."""

from collections.abc import Callable
from functools import cached_property

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

# Alpine builds functions from its attributes, and the package writes its colours into a style
# element. Everything still comes from our own address, and no script stands in the page itself.
ADMIN_POLICY = {
    "script-src": ["'self'", "'unsafe-eval'"],
    "style-src": ["'self'", "'unsafe-inline'"],
}


class AdminPolicyMiddleware:
    """Loosens the policy below the admin's address, and nowhere else. Comes after django-csp's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if request.path_info.startswith(self._admin):
            response._csp_replace = ADMIN_POLICY  # type: ignore[attr-defined]
        return response

    @cached_property
    def _admin(self) -> str:
        return reverse("admin:index")
