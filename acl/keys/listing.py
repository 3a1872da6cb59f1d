"""List of keys with their status."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Now

from acl.models import ApiKey
from acl.models.api_key import Rank

_LINKS = ApiKey.groups.through.objects.filter(apikey=OuterRef("pk"))
_MEMBERS = User.groups.through.objects.filter(
    group=OuterRef("group"), user=OuterRef("apikey__owner")
)
COVERED = _LINKS.filter(Q(apikey__owner=None) | Q(Exists(_MEMBERS)))
SOON = timedelta(days=7)
# How a key stands, by the database's clock, as the key is recognised by it.
STATES = {
    "revoked": Q(revoked_at__isnull=False),
    "expired": Q(expires_at__lte=Now()),
    # Until its owner is active, an admin, or a member again.
    "resting": (
        Q(owner__is_active=False)
        | Q(rank__gt=Rank.MEMBER, owner__is_staff=False)
        | (Q(all_groups=False) & ~Q(Exists(COVERED)))
    ),
    "ending": Q(expires_at__lte=Now() + SOON),
}
USABLE = ("active", "ending")


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Filters of the list of keys."""

    words: str = ""
    group: str = ""
    show: str = ""  # one of the states, `usable`, or everything


def list_keys(filters: KeyFilter) -> QuerySet[ApiKey]:
    """Return matching keys with their `standing`: usable ones first, then the newest."""
    standing = Case(
        *(When(condition, then=Value(state)) for state, condition in STATES.items()),
        default=Value("active"),
        output_field=CharField(),
    )
    keys = (
        ApiKey.objects.filter(connection=None)
        .annotate(standing=standing)
        .select_related("owner", "owner__service_account", "created_by")
    )
    if filters.words:
        keys = keys.filter(
            Q(name__icontains=filters.words)
            | Q(prefix__startswith=filters.words[:11])
            | Q(owner__username__icontains=filters.words)
        )
    if filters.group:
        keys = keys.filter(groups__name=filters.group)
    if filters.show:
        keys = keys.filter(standing__in=USABLE if filters.show == "usable" else [filters.show])
    first = Case(When(standing__in=USABLE, then=Value(0)), default=Value(1))
    return keys.prefetch_related("groups").order_by(first, "-created_at", "pk")


def usable_keys() -> QuerySet[ApiKey]:
    """Return the keys that are valid now."""
    return list_keys(KeyFilter(show="usable"))


def usable_keys_of(person: User) -> QuerySet[ApiKey]:
    """Return the keys of a person's assistants that are valid now, the last used first."""
    over = Q(revoked_at__isnull=False) | Q(expires_at__lte=Now())
    keys = ApiKey.objects.filter(owner=person, scopes__contains=[ApiKey.Scope.DISCOVER])
    return keys.exclude(over).order_by(F("last_used_at").desc(nulls_last=True), "-pk")
