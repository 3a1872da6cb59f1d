"""What a source offers no longer, or under another name."""

from django.db.models import Q
from django.db.models.functions import Now

from catalog.models import Integration
from marketplace.models import Listing, Source


def mark_vanished(source: Source, *, kept: set[str]) -> int:
    """How many listings this reading has not seen. Those that are installed are marked, so that
    nobody wonders where they came from; the others go. Parts of plugins in `kept` were not looked
    at."""
    own = Listing.objects.filter(source=source).exclude(run=source.run)
    # A missing key of JSON is neither in a list nor outside of it: `exclude` would lose those rows.
    gone = own.filter(Q(details__plugin=None) | ~Q(details__plugin__in=kept)) if kept else own
    installed = Integration.objects.exclude(listing="").values("listing")
    marked = gone.filter(slug__in=installed, vanished_at=None).update(vanished_at=Now())
    _, removed = gone.exclude(slug__in=installed).delete()
    return marked + removed.get(Listing._meta.label, 0)


def follow_renames(source: Source, renames: dict[str, str]) -> list[str]:
    """Give listings the names that the source has for them now; their addresses stay, and with
    them what is installed of them."""
    if not renames:
        return []
    wanted = {old: _last(old, renames) for old in renames}
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


def _last(name: str, renames: dict[str, str]) -> str:
    """Where a chain of renames ends; one that leads round ends before it does."""
    seen = {name}
    while (following := renames.get(name)) and following not in seen:
        seen.add(following)
        name = following
    return name
