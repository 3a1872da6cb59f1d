"""Pages of connected assistants: the consent to a client, and the list of one's own."""

from math import ceil
from urllib.parse import urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2 import OAuth2Error
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from acl.models import ClientDocument
from acl.oauth.authorization_server import CodeGrant, authorization_server, origin_of
from acl.oauth.client_registration import (
    DocumentRefused,
    ask_for_document,
    check_document_address,
    find_document,
    host_of,
    is_document_address,
    is_late,
    is_own_machine,
    origin_to_allow,
)
from acl.oauth.connections import end_connection, list_connections
from acl.platform.client_address import client_address, network_of
from acl.web.frame import (
    POLICY_HEADER,
    PageRequest,
    frame_of,
    page_policy,
    render_page,
)
from acl.web.rate_counts import seconds_over

MOST_SHOWN = 200
MOST_DOCUMENTS = 10  # that a person may have read in a minute
_SECONDS, _SECONDS_IF_LATE = 2, 10


@require_http_methods(["GET", "POST"])
@login_required
def authorize(request: PageRequest) -> HttpResponse:
    """Ask the person whether a client may act for them; then send it a code, or the refusal."""
    if not settings.PEGBOARD_OAUTH:
        raise Http404
    response = _read_document_first(request) or _answer(request)
    add_never_cache_headers(response)
    return response


def _answer(request: PageRequest) -> HttpResponse:
    try:
        grant = authorization_server().get_consent_grant(request, end_user=request.user)
        return _decide(request, grant) if request.method == "POST" else _ask(request, grant)
    except OAuth2Error as error:
        # Tell the client, where the redirect URI is its own; otherwise only the person.
        if not error.redirect_uri:
            return _explain(request, error.error)
        status, _body, headers = error()
        return _with_issuer(request, HttpResponse(status=status, headers=dict(headers)))
    except ValueError:  # Authlib cannot quote odd characters in the description of an error
        return _explain(request, "invalid_request")


def _read_document_first(request: PageRequest) -> HttpResponse | None:
    """Return the page to show until the worker has read the client's document, or None."""
    address = request.POST.get("client_id") or request.GET.get("client_id", "")
    if not is_document_address(address):
        return None
    if not settings.PEGBOARD_OAUTH_DOCUMENTS:
        return _explain(request, "invalid_client")
    try:
        check_document_address(address)
    except DocumentRefused as refused:
        return _explain(request, "invalid_client", str(refused))
    document = find_document(address)
    if document is None:
        if refusal := _limited(request):
            return refusal
        document = ask_for_document(address)
    if document.state == ClientDocument.State.READY:
        return None
    if document.state == ClientDocument.State.FAILED:
        return _explain(request, "invalid_client", document.problem)
    if request.method == "POST":  # what was agreed to has been read anew since
        return redirect(request.get_full_path())
    late = is_late(document)
    context = {"host": host_of(document.address), "late": late}
    response = render(request, "oauth/reading.html", context)
    response["Refresh"] = str(_SECONDS_IF_LATE if late else _SECONDS)  # needs no script
    return response


def _limited(request: PageRequest) -> HttpResponse | None:
    """Return a 429 for who has many documents read: addresses are not scanned through us."""
    network = network_of(client_address(request))
    wait = seconds_over(f"client-document:{request.user.pk}", MOST_DOCUMENTS) or seconds_over(
        f"client-document{network}", settings.PEGBOARD_RATE_REGISTRATIONS
    )
    if not wait:
        return None
    response = render(request, "429.html", status=429)
    response["Retry-After"] = str(ceil(wait))
    return response


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def assistants(request: PageRequest) -> HttpResponse:
    """List one's connected assistants, for admins everybody's, and disconnect one."""
    mine = list_connections(None if request.user.is_staff else request.user)
    if request.method == "POST":
        pk = request.POST.get("connection", "")
        connection = get_object_or_404(mine, pk=int(pk) if pk.isdecimal() else 0)
        end_connection(by=request.user, connection=connection)
        message = _("%(name)s was disconnected. Its requests are refused from now on.")
        messages.success(request, message % {"name": connection.client.name})
        return redirect("assistants")
    context = {"connections": mine[:MOST_SHOWN]}
    return render_page(request, "oauth/assistants.html", context, frame=frame_of(request))


def _ask(request: PageRequest, grant: CodeGrant) -> HttpResponse:
    client, oauth_request = grant.request.client.row, grant.request
    context = {
        "client": client,
        "redirect_host": host_of(grant.redirect_uri),
        "own_machine": is_own_machine(grant.redirect_uri),
        "scopes": oauth_request.scope.split(),
        "address": urlsplit(oauth_request.resource).path,
    }
    response = render(request, "oauth/consent.html", context)
    # Browsers apply the policy of the form's page to the redirect that follows it.
    redirect_origin = origin_to_allow(grant.redirect_uri)
    response[POLICY_HEADER] = page_policy({"form-action": f"'self' {redirect_origin}"})
    return response


@transaction.atomic
def _decide(request: PageRequest, grant: CodeGrant) -> HttpResponse:
    person = request.user if request.POST.get("decision") == "allow" else None
    answer: HttpResponse = authorization_server().create_authorization_response(
        request, grant_user=person, grant=grant
    )
    return _with_issuer(request, answer)


def _with_issuer(request: PageRequest, answer: HttpResponse) -> HttpResponse:
    """Name the issuer in a redirect (RFC 9207), so that clients cannot mix servers up."""
    if "Location" in answer:
        answer["Location"] = add_params_to_uri(answer["Location"], {"iss": origin_of(request)})
    return answer


def _explain(request: PageRequest, code: str, problem: str = "") -> HttpResponse:
    context = {"code": code, "problem": problem}
    return render(request, "oauth/refused.html", context, status=400)
