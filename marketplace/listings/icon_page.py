"""Pictures of icons, from Pegboard's own origin: what is shown to a person, and nothing else."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from acl.rights.caller_lookup import Caller
from acl.web.frame import PageRequest, frame_of
from catalog.models import Capability, IconImage, Integration
from marketplace.listings.viewer import Viewer, visible_listings

_YEAR = 365 * 24 * 3600


@login_required
@require_safe
def icon(request: PageRequest, public_id: UUID) -> HttpResponse:
    """Answer with a picture. Its key changes with its content, so browsers keep it."""
    staff = request.user.is_staff
    content = find_picture(public_id, by_admin=staff, caller=None if staff else _caller(request))
    if content is None:
        raise Http404
    response = HttpResponse(content, content_type="image/png")
    response["Cache-Control"] = f"private, max-age={_YEAR}, immutable"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


def find_picture(public_id: UUID, *, by_admin: bool, caller: Caller | None) -> bytes | None:
    """Return the picture if something that has it may be seen, else None."""
    listed = visible_listings(Viewer(by_admin, caller)).filter(icon__image=OuterRef("pk"))
    condition = Q(Exists(listed))
    if by_admin:
        condition |= Q(Exists(Integration.objects.filter(icon__image=OuterRef("pk"))))
    elif caller is not None:
        usable = Capability.objects.reachable_by(caller, unavailable=True)
        condition |= Q(Exists(usable.filter(integration__icon__image=OuterRef("pk"))))
    content = (
        IconImage.objects.filter(condition, pk=public_id).values_list("content", flat=True).first()
    )
    return None if content is None else bytes(content)


def _caller(request: PageRequest) -> Caller | None:
    # Of all their groups: a page of another group may have shown it a moment ago.
    return frame_of(request).everywhere
