"""The cast of the demo: groups with tools, their people, spaces and keys."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Group, User
from django.utils import timezone

from acl.keys.lifecycle import create_key, revoke_key
from acl.models import ApiKey, Space
from acl.people.spaces import create_space, ensure_root
from catalog.access.grants import grant_integrations
from catalog.models import Integration

PREFIX = "Demo "
LEAD = "demo-lead"
NIGHT = "Night shift"
EVERYBODY = ("tool_discovery", "calculator", "web-search", "tasks", "memory")
GROUPS: dict[str, tuple[str, ...]] = {
    "Support": ("gmail", "slack", "notifications", "translate", "summarize", "email-writing"),
    "Sales": ("gmail", "google_calendar", "whatsapp", "web-browser", "research", "news-search"),
    "Engineering": ("filesystem", "slack", "webhook", "cron", "code-review", "mcp", "settings"),
    "Office": ("google_calendar", "gmail", "weather", "teams", "meeting-notes", "sms", "cron"),
}
PEOPLE = ("amira", "ben", "chen", "dora")


@dataclass(frozen=True, slots=True)
class Team:
    """A group with its backend's key. The lead rejects its calls."""

    group: Group
    key: str
    leads_key: str
    users: tuple[str, ...]
    space: str
    slugs_granted: frozenset[str]

    @property
    def name(self) -> str:
        """Return the group's name without the prefix."""
        return self.group.name.removeprefix(PREFIX)

    def has(self, identifiers: tuple[str, ...]) -> bool:
        """Return True if the team has all of these tools."""
        names = (identifier.partition(":")[2] for identifier in identifiers)
        return all(name.partition("__")[0] in self.slugs_granted for name in names)


def demo_groups() -> list[str]:
    """Return the names that mark rows of the demo."""
    return [PREFIX + name for name in GROUPS]


def create_teams(keys: list[ApiKey]) -> list[Team]:
    """Create the missing teams; keys to revoke at the end are added to `keys`."""
    lead = _user(LEAD)
    return [_team(name, slugs, lead, keys) for name, slugs in GROUPS.items()]


def revoke_keys(keys: list[ApiKey]) -> None:
    """Revoke the demo's keys."""
    for key in keys:
        revoke_key(by=None, key=key)


def _team(name: str, slugs: tuple[str, ...], lead: User, keys: list[ApiKey]) -> Team:
    group, _ = Group.objects.get_or_create(name=PREFIX + name)
    users = [_user(f"demo-{name.lower()}-{person}") for person in PEOPLE]
    for user in (*users, lead):
        user.groups.add(group)
    slugs_granted = Integration.objects.filter(slug__in=(*slugs, *EVERYBODY))
    grant_integrations(integrations=slugs_granted, group=group, by=None)
    space = Space.objects.filter(group=group, name=NIGHT).first() or create_space(
        by=None, group=group, parent=ensure_root(group), name=NIGHT
    )
    scopes = ["select", "discover", "execute"]
    raw = _key(keys, group=group, scopes=scopes, acts_for_users=True)
    leads = _key(keys, group=group, scopes=["admin"], owner=lead)
    names = tuple(user.get_username() for user in users)
    return Team(group, raw, leads, names, space.slug, frozenset((*slugs, *EVERYBODY)))


def _user(name: str) -> User:
    """Return a user without a usable password."""
    user, new = User.objects.get_or_create(username=name)
    if new:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def _key(keys: list[ApiKey], **about: object) -> str:
    soon = timezone.now() + timedelta(hours=1)
    key, raw = create_key(by=None, name="demo week", expires_at=soon, **about)  # type: ignore[arg-type]
    keys.append(key)
    return raw
