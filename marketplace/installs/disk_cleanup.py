"""Cleanup of package folders, home folders and connections that no row refers to.

It is stateless, so anything missed is found at the next run.
"""

from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.servers.connections.probe import close_all_but
from marketplace.installs.packages.package_folders import remove_all_but
from marketplace.models import Installation

State = Installation.State
# The version in use, and the one before it for a rollback.
_KEPT_VERSIONS = 2


def clean_up() -> None:
    """Remove unreferenced folders, and close unused connections."""
    remove_all_but(referenced_folders)
    serving = Integration.objects.filter(enabled=True, state=ReviewState.APPROVED)
    close_all_but(set(serving.values_list("pk", flat=True)))


def referenced_folders() -> set[str]:
    """Return the names of folders that a row refers to."""
    homes = {f"home-{pk}" for pk in Integration.objects.values_list("pk", flat=True)}
    in_progress = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    with_place = Installation.objects.exclude(place="")
    places = set(with_place.filter(state__in=in_progress).values_list("place", flat=True))
    served: dict[int, list[str]] = {}
    ready = with_place.filter(state=State.READY).order_by("-pk")
    for integration, place in ready.values_list("integration", "place"):
        own = served.setdefault(integration, [])
        if place not in own and len(own) < _KEPT_VERSIONS:
            own.append(place)
    serving = Integration.objects.exclude(package={}).values_list("package__place", flat=True)
    return homes | places | set(serving) | {place for own in served.values() for place in own}
