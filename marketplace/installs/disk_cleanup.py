"""What no row wants is removed: folders of packages, homes of servers, connections. Nobody has to
be told what: whatever was missed once is found the next time."""

from catalog.models import Integration
from catalog.models.integration import ReviewState
from catalog.servers.connections.probe import close_all_but
from marketplace.installs.packages.package_folders import remove_all_but
from marketplace.models import Installation

State = Installation.State
# The version that serves, and the one before it, which can be taken back to.
_KEPT_VERSIONS = 2


def tidy() -> None:
    """Remove and end what is left over."""
    remove_all_but(wanted_folders)
    serving = Integration.objects.filter(enabled=True, state=ReviewState.APPROVED)
    close_all_but(set(serving.values_list("pk", flat=True)))


def wanted_folders() -> set[str]:
    """Names of the folders that a row speaks of."""
    homes = {f"home-{pk}" for pk in Integration.objects.values_list("pk", flat=True)}
    under_way = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    with_place = Installation.objects.exclude(place="")
    places = set(with_place.filter(state__in=under_way).values_list("place", flat=True))
    served: dict[int, list[str]] = {}
    ready = with_place.filter(state=State.READY).order_by("-pk")
    for integration, place in ready.values_list("integration", "place"):
        own = served.setdefault(integration, [])
        if place not in own and len(own) < _KEPT_VERSIONS:
            own.append(place)
    serving = Integration.objects.exclude(package={}).values_list("package__place", flat=True)
    return homes | places | set(serving) | {place for own in served.values() for place in own}
