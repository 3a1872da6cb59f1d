"""Celery tasks of installing. They run in the outgoing worker; the web sends them by name."""

from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.db.models.functions import Now

from acl.platform.jobs import send_again
from acl.platform.task_names import CLEAN_UP_INSTALLATIONS, INSTALL, SWEEP_INSTALLATIONS
from catalog.models import Integration, Secret
from catalog.models.integration import ReviewState
from catalog.servers.connections.server_requests import close_all_but
from marketplace.installs.package_step import compile_package
from marketplace.installs.packages.folders import remove_all_but
from marketplace.installs.worker import install, overdue_installations
from marketplace.models import Installation

# The first wait for vectors or a free slot; each further one is half as long again, up to the last.
_RETRY_SECONDS, _MOST_RETRY_SECONDS = 0.5, 10.0


@shared_task(name=INSTALL)  # type: ignore[untyped-decorator]
def install_server(pk: int, waited: float = 0.0) -> None:
    """Advance an installation; while it waits, run again soon. Then compile its package."""
    if install(pk):
        wait = min(_MOST_RETRY_SECONDS, max(_RETRY_SECONDS, 1.5 * waited))
        install_server.apply_async([pk, wait], countdown=wait)
    else:
        compile_package(pk)


@shared_task(name=SWEEP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def sweep_installations() -> None:
    """Resend overdue installations, and clean up."""
    send_again(INSTALL, overdue_installations())
    clean_up()


@shared_task(name=CLEAN_UP_INSTALLATIONS)  # type: ignore[untyped-decorator]
def clean_up_after_changes() -> None:
    """Clean up after something was removed, disabled or cancelled."""
    clean_up()


State = Installation.State
# The version in use, and the one before it for a rollback.
_KEPT_VERSIONS = 2
# So that "Try again" fetches nothing twice. Nobody may ever press it.
_KEPT_FOR_RETRY = timedelta(days=1)


def clean_up() -> None:
    """Remove unreferenced folders, and close unused connections."""
    remove_all_but(referenced_folders)
    serving = Integration.objects.filter(enabled=True, state=ReviewState.APPROVED)
    close_all_but(set(serving.values_list("pk", flat=True)))


def referenced_folders() -> set[str]:
    """Return the names of folders that a row refers to."""
    homes = {f"home-{pk}" for pk in Integration.objects.values_list("pk", flat=True)}
    owners = Secret.objects.exclude(user=None).values_list("integration", "user").distinct()
    homes |= {f"home-{pk}-{user}" for pk, user in owners.order_by()}
    in_progress = (*Installation.WORKING, State.CONFIGURE, State.NEEDS_APPROVAL)
    with_place = Installation.objects.exclude(place="")
    retried = Q(state__in=(State.FAILED, State.NEEDS_SECRET))
    in_use = Q(state__in=in_progress) | retried & Q(updated_at__gt=Now() - _KEPT_FOR_RETRY)
    places = set(with_place.filter(in_use).values_list("place", flat=True))
    served: dict[int, list[str]] = {}
    ready = with_place.filter(state=State.READY).order_by("-pk")
    for integration, place in ready.values_list("integration", "place"):
        newest_places = served.setdefault(integration, [])
        if place not in newest_places and len(newest_places) < _KEPT_VERSIONS:
            newest_places.append(place)
    serving = Integration.objects.exclude(package={}).values_list("package__place", flat=True)
    return (
        homes
        | places
        | set(serving)
        | {place for newest_places in served.values() for place in newest_places}
    )
