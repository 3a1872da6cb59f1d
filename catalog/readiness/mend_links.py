"""Links to the pages where the reader can mend what keeps a tool from running."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from catalog.readiness.obstacles import Obstacle
from catalog.readiness.readiness import Readiness, ToolReadiness

LONGEST_WISH = 200
MEND_HELP = "The path of the page where the caller can mend it, or empty."


@dataclass(frozen=True, slots=True)
class MendLink:
    """The path of a page, and the text of the link to it."""

    path: str
    label: str


def mend_link(
    readiness: ToolReadiness, *, integration: str, full_name: str, about_other: bool = False
) -> MendLink | None:
    """Return the link to the page where the state can be mended; None if the reader cannot.

    The reader is the tool's caller. `about_other` is True if an admin reads about someone else,
    whose own secrets and accounts only that person can set.
    """
    state = readiness.state
    if state is Readiness.NEEDS_YOU:
        own = MendLink(reverse("my-secret", args=[integration]), _("Set up your connection"))
        return None if about_other else own
    if state not in {Readiness.NEEDS_ADMIN, Readiness.FAILING}:
        return None
    if readiness.for_staff or about_other:
        return _for_staff(readiness, integration)
    # A failing server is probed again anyway: nobody else has to do anything.
    return None if state is Readiness.FAILING else _for_member(readiness, full_name)


def _for_staff(readiness: ToolReadiness, integration: str) -> MendLink:
    if readiness.obstacle is Obstacle.NOT_CONFIRMED:
        return MendLink(reverse("integration-confirm", args=[integration]), _("Review the import"))
    return MendLink(reverse("integration", args=[integration]), _("Open integration"))


def _for_member(readiness: ToolReadiness, full_name: str) -> MendLink:
    wish = f"{full_name}: {readiness.sentence}"[:LONGEST_WISH]
    return MendLink(f"{reverse('requests')}?{urlencode({'wish': wish})}", _("Ask an admin"))


def path_of(link: MendLink | None) -> str:
    """Return the path of a link, or ""."""
    return link.path if link else ""
