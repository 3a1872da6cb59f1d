"""Declared icons: the address that an integration or a listing has, stored to be read.

Nothing is fetched here. The outgoing worker reads what is due (`catalog/servers/icons/`).
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from acl.platform.task_names import READ_ICON, send_on_commit
from catalog.models import IconSource, Integration
from catalog.models.integration import digest_of_address


class Iconed(Protocol):
    """A row with an icon and with what its source said."""

    icon_id: int | None


@transaction.atomic
def set_icon(integration: Integration, address: str) -> None:
    """Give the integration the icon of this address, or none; let it be read soon."""
    source = find_or_add([address]).get(address) if address else None
    if integration.icon_id == (source.pk if source else None):
        return
    integration.icon = source
    Integration.objects.filter(pk=integration.pk).update(icon=source)
    if source and source.state == IconSource.State.WAITING:
        send_on_commit(READ_ICON, source.pk)


def assign_icons(declared: Iterable[tuple[Iconed, str]]) -> None:
    """Set the icons of rows that are saved afterwards, by the address that each declares.

    A sweep has them read, some at a time: a registry may have thousands.
    """
    rows = list(declared)
    sources = find_or_add([address for _, address in rows if address])
    for row, address in rows:
        row.icon_id = sources[address].pk if address else None


def find_or_add(addresses: list[str]) -> dict[str, IconSource]:
    """Return the row of each address; store those that are missing."""
    by_digest = {digest_of_address(address): address for address in addresses}
    if not by_digest:
        return {}
    sources = _find(by_digest)
    missing = [
        IconSource(address=address, address_digest=digest)
        for digest, address in by_digest.items()
        if address not in sources
    ]
    # Another transaction may store the same ones at this moment.
    IconSource.objects.bulk_create(missing, ignore_conflicts=True)
    return _find(by_digest) if missing else sources


def _find(by_digest: Mapping[str, str]) -> dict[str, IconSource]:
    rows = IconSource.objects.filter(address_digest__in=by_digest).order_by("pk")
    return {by_digest[row.address_digest]: row for row in rows}


# Problems of declared icons, for the page of an integration.


def icon_problem(source: IconSource | None) -> str:
    """Return the reason that the icon is not shown, as stored in English, or ""."""
    if source is None or (source.state == IconSource.State.READY and source.image_id):
        return ""
    if source.state == IconSource.State.FAILED:
        return source.problem
    if not settings.PEGBOARD_FETCH_ICONS and not source.is_data:
        return _("It declares an icon, but icons are not fetched here.")
    return _("Its icon waits to be read.")


# Faces of integrations: what a row shows of one beside its name.


class Face(NamedTuple):
    """The title and kind of an integration, and the key of its picture if it has one."""

    title: str
    picture: UUID | None
    kind: str = ""


def faces_of(slugs: Iterable[str]) -> dict[str, Face]:
    """Return the faces of these integrations by slug, in one statement for any number."""
    distinct_slugs = set(slugs)
    if not distinct_slugs:
        return {}
    rows = Integration.objects.filter(slug__in=distinct_slugs).order_by("pk")
    values = rows.values_list("slug", "title", F("icon__image"), "kind")
    return {slug: Face(*face) for slug, *face in values}


def face_of(integration: Integration) -> Face:
    """Return the face of an integration that was read with `picture=F("icon__image")`."""
    picture: UUID | None = integration.picture  # type: ignore[attr-defined]
    return Face(integration.title, picture, integration.kind)
