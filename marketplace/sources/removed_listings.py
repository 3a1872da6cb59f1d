"""Listings that their source removed or renamed."""

from django.db.models import Q
from django.db.models.functions import Now

from catalog.models import Integration
from marketplace.models import Listing, Source


def mark_vanished(source: Source, *, kept: set[str]) -> int:
    """Mark listings that this run has not seen, and return their number.

    Installed ones stay, marked as vanished; others are deleted. Parts of the plugins in `kept` were
    not fetched in this run, so they are left alone.
    """
    own = Listing.objects.filter(source=source).exclude(run=source.run)
    # NULL IN (...) is neither true nor false in SQL: `exclude` would drop rows without that key.
    gone = own.filter(Q(details__plugin=None) | ~Q(details__plugin__in=kept)) if kept else own
    installed = Integration.objects.exclude(listing="").values("listing")
    marked = gone.filter(slug__in=installed, vanished_at=None).update(vanished_at=Now())
    _, removed = gone.exclude(slug__in=installed).delete()
    return marked + removed.get(Listing._meta.label, 0)


def follow_renames(source: Source, renames: dict[str, str]) -> list[str]:
    """Rename the keys of listings; slugs and installations stay. Return the old keys."""
    if not renames:
        return []
    wanted = {old: _follow(old, renames) for old in renames}
    names = {*wanted, *wanted.values()}
    rows = {row.key: row for row in Listing.objects.filter(source=source, key__in=names)}
    followed = []
    for old, new in wanted.items():
        if old in rows and new not in rows and new != old:
            rows[new] = rows.pop(old)
            rows[new].key = new
            rows[new].save(update_fields=["key"])
            followed.append(old)
    return followed


def _follow(name: str, renames: dict[str, str]) -> str:
    """Follow a chain of renames to its end; stop before a cycle closes."""
    seen = {name}
    while (following := renames.get(name)) and following not in seen:
        seen.add(following)
        name = following
    return name
