"""The OAuth endpoints of programs: metadata, registration, tokens and revocation.

Anyone may call them, so each address has limits. Errors have OAuth's form.
"""

from collections.abc import Callable
from functools import wraps
from math import ceil

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from acl.oauth.authorization_server import authorization_server, origin_of, server_metadata
from acl.oauth.client_registration import RegistrationRefused, register_client
from acl.platform.client_address import client_address, network_of
from acl.platform.strict_json import StrictJSONError, parse_json
from acl.web.rate_counts import seconds_over

View = Callable[[HttpRequest], HttpResponse]
TOO_MANY = "temporarily_unavailable"


def only_if_enabled(view: View) -> View:
    """Answer 404 where the operator turned sign-in of clients off."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if not settings.PEGBOARD_OAUTH:
            raise Http404
        return view(request)

    return checked


@only_if_enabled
@require_safe
def metadata(request: HttpRequest) -> HttpResponse:
    """Return the metadata of the authorization server."""
    response = JsonResponse(server_metadata(origin_of(request)))
    # Public, and read by clients in browsers, which are pages of other origins.
    response["Access-Control-Allow-Origin"] = "*"
    return response


@csrf_exempt
@only_if_enabled
@require_POST
@never_cache
def register(request: HttpRequest) -> HttpResponse:
    """Register a client. All are public: a secret in a program on a desktop is none."""
    if refused := _limited(request, "oauth-register", settings.PEGBOARD_RATE_REGISTRATIONS):
        return refused
    try:
        name, uris = _read_metadata(request)
        client = register_client(name=name, redirect_uris=uris)
    except RegistrationRefused as problem:
        status = 503 if problem.code == TOO_MANY else 400
        return _error(problem.code, str(problem), status)
    described = {
        "client_id": client.client_id,
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return JsonResponse(described, status=201)


@csrf_exempt
@only_if_enabled
@require_POST
@never_cache
@sensitive_post_parameters()
def token(request: HttpRequest) -> HttpResponse:
    """Exchange a code or a refresh token for tokens."""
    return _answer(request, lambda server: server.create_token_response(request))


@csrf_exempt
@only_if_enabled
@require_POST
@never_cache
@sensitive_post_parameters()
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke a token, and with it the connection."""
    return _answer(request, lambda server: server.create_endpoint_response("revocation", request))


@sensitive_variables()
def _answer(request: HttpRequest, ask: Callable[..., HttpResponse]) -> HttpResponse:
    """Ask Authlib in one transaction: a refusal, too, may have ended a connection."""
    if refused := _limited(request, "oauth-token", settings.PEGBOARD_RATE_PER_ADDRESS):
        return refused
    with transaction.atomic():
        try:
            return ask(authorization_server())
        except ValueError:  # it cannot quote odd characters in the description of an error
            return _error("invalid_request", "The request has characters that it may not have.")


def _read_metadata(request: HttpRequest) -> tuple[str, list[str]]:
    """Return name and redirect URIs. Other metadata is ignored, as RFC 7591 allows."""
    try:
        body = parse_json(request.body)
    except StrictJSONError as problem:
        raise RegistrationRefused("invalid_client_metadata", "Send a JSON object.") from problem
    name = body.get("client_name", "") if isinstance(body, dict) else None
    uris = body.get("redirect_uris", []) if isinstance(body, dict) else None
    if not isinstance(name, str) or not isinstance(uris, list):
        raise RegistrationRefused("invalid_client_metadata", "Send a JSON object of metadata.")
    if not all(isinstance(uri, str) for uri in uris):
        raise RegistrationRefused("invalid_redirect_uri", "Redirect URIs are texts.")
    return name, uris


def _limited(request: HttpRequest, what: str, limit: int) -> HttpResponse | None:
    """Return the 429 of an address that asks too often, or None."""
    wait = seconds_over(f"{what}{network_of(client_address(request))}", limit)
    if not wait:
        return None
    answer = _error(TOO_MANY, "Too many requests. Try again later.", 429)
    answer["Retry-After"] = str(ceil(wait))
    return answer


def _error(code: str, reason: str, status: int = 400) -> HttpResponse:
    return JsonResponse({"error": code, "error_description": reason}, status=status)
