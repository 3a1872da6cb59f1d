"""Faces of integrations: what a row shows of one beside its name."""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from django.db.models import F

from catalog.models import Integration


class Face(NamedTuple):
    """The title of an integration, and the key of its picture if it has one."""

    title: str
    picture: UUID | None


def faces_of(slugs: Iterable[str]) -> dict[str, Face]:
    """Return the faces of these integrations by slug, in one statement for any number."""
    wanted = set(slugs)
    if not wanted:
        return {}
    rows = Integration.objects.filter(slug__in=wanted).order_by("pk")
    found = rows.values_list("slug", "title", F("icon__image"))
    return {slug: Face(title, picture) for slug, title, picture in found}


def face_of(integration: Integration) -> Face:
    """Return the face of an integration that was read with `picture=F("icon__image")`."""
    return Face(integration.title, integration.picture)  # type: ignore[attr-defined]
