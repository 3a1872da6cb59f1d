"""No sequence of requests increases the reach of an actor.

The oracle is independent of `acl.rights.delegation`: it reads the tables and lists in words
everything that someone can do with the credentials they hold.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models.functions import Now
from hypothesis import given, settings
from hypothesis import strategies as st

from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import ApiKey, Invitation, ServiceAccount
from acl.people._invitations import accept, invite
from acl.people.people import (
    PeopleRefused,
    add_to_group,
    create_service_account,
    deactivate,
    reactivate,
    take_out_of_group,
)
from acl.rights.delegation import DelegationRefused
from acl.rights.delegation.authority import KeyHolder
from tests.examples import EXAMPLES_OF_WORLDS

SCOPES = ["select", "discover", "execute", "admin"]
PERMISSIONS = ["act_for_others", "install_stdio", "change_user"]
SUPERUSER_WORDS = frozenset({"rank 2", *(f"permission {name}" for name in PERMISSIONS)})
Principal = User | KeyHolder


@dataclass
class Hands:
    """An actor and all credentials obtained so far."""

    person: User | None
    raw_keys: list[str] = field(default_factory=list)
    accounts: list[User] = field(default_factory=list)  # by accepting their own invitations

    def principals(self) -> list[Principal]:
        """Return the principals that can still sign in."""
        people = [one for one in (self.person, *self.accounts) if one is not None]
        fresh = [User.objects.get(pk=one.pk) for one in people]
        holders = [holder for raw in self.raw_keys if (holder := holder_of(raw))]
        return [*(one for one in fresh if one.is_active), *holders]


def reach_of(hands: Hands) -> frozenset[str]:
    """Return everything that these credentials allow, in words without the keys' names."""
    words: frozenset[str] = frozenset()
    for principal in hands.principals():
        if isinstance(principal, KeyHolder):
            words |= words_of_key(principal)
        else:
            words |= words_of_person(principal)
    return words


def words_of_person(person: User) -> frozenset[str]:
    words = {f"as {person.pk} with {scope}" for scope in SCOPES[:3]}
    if person.is_staff:
        everywhere = Group.objects.values_list("pk", flat=True)
        words |= {f"{what} {pk}" for what in ("admin of", "approves in") for pk in everywhere}
        words |= {"rank 1"} | permission_words(person)
    if person.is_staff and person.has_perm("acl.act_for_others"):
        words |= acting_words(SCOPES[:3], [0, *Group.objects.values_list("pk", flat=True)])
    return frozenset(words | {"for ever"})


# Group 0 stands for people without a group.
def permission_words(person: User) -> frozenset[str]:
    if person.is_superuser:
        return SUPERUSER_WORDS
    held = {name.split(".")[1] for name in User.objects.get(pk=person.pk).get_all_permissions()}
    return frozenset(f"permission {name}" for name in held & set(PERMISSIONS))


def acting_words(scopes: list[str], groups: Iterable[int]) -> set[str]:
    """Return words for groups, not members, since admins change memberships."""
    return {f"for members of {pk} with {scope}" for pk in groups for scope in scopes}


def words_of_key(holder: KeyHolder) -> frozenset[str]:
    scopes = [scope for scope in SCOPES[:3] if scope in holder.scopes]
    groups = list(Group.objects.filter(holder.in_groups("pk")).values_list("pk", flat=True))
    words: set[str] = set()
    if holder.acts_for_users:
        words |= acting_words(scopes, groups)
    if holder.owner_id:
        words |= {f"as {holder.owner_id} with {scope}" for scope in scopes}
    if "admin" in holder.scopes:
        words |= {f"admin of {pk}" for pk in groups}
        if holder.owner_id:  # approvals need a person
            words |= {f"approves in {pk}" for pk in groups}
        words |= rank_words(holder)
    return frozenset(words | ({"for ever"} if holder.expires_at is None else set()))


def rank_words(holder: KeyHolder) -> frozenset[str]:
    if not holder.rank or holder.owner_id is None:
        return frozenset()
    owner = User.objects.get(pk=holder.owner_id)
    whole = permission_words(owner) if holder.rank == 2 or not owner.is_superuser else frozenset()
    return whole | {"rank 1"}


@dataclass
class Town:
    """People and groups of all kinds."""

    people: list[User]
    groups: list[Group]
    random: Random

    def some_groups(self) -> list[Group]:
        return self.random.sample(self.groups, self.random.randint(0, 2))

    def some_scopes(self) -> list[str]:
        return self.random.sample(SCOPES, self.random.randint(1, 4))

    def some_end(self) -> datetime | None:
        days = self.random.choice([None, None, 1, 400])
        with_now = User.objects.annotate(now=Now()).values_list("now", flat=True).first()
        return None if days is None or with_now is None else with_now + timedelta(days=days)


def build(random: Random) -> Town:
    permissions = {
        name: Permission.objects.get(codename=name, content_type__app_label=app)
        for name, app in zip(PERMISSIONS, ("acl", "marketplace", "auth"), strict=True)
    }
    groups = [Group.objects.create(name=f"group {number}") for number in range(3)]
    groups[2].permissions.add(permissions[random.choice(PERMISSIONS)])
    people = []
    for number, (is_staff, is_superuser) in enumerate(
        [(False, False), (False, False), (True, False), (True, False), (True, True)]
    ):
        person = User.objects.create(
            username=f"person {number}", is_staff=is_staff, is_superuser=is_superuser
        )
        person.groups.set(random.sample(groups, random.randint(0, 2)))
        if random.random() < 0.4:
            person.user_permissions.add(permissions[random.choice(PERMISSIONS)])
        people.append(person)
    robot = User.objects.create(username="robot", password="!")
    ServiceAccount.objects.create(user=robot)
    robot.groups.set(groups[:2])
    return Town([*people, robot], groups, random)


def issue_first_keys(town: Town) -> list[str]:
    """Create keys that the operator gives to the actor."""
    found = []
    for _ in range(4):
        try:
            _, raw = create_key(
                by=None, name="first", groups=town.some_groups(), scopes=town.some_scopes(),
                owner=town.random.choice([None, *town.people]), expires_at=town.some_end(),
                acts_for_users=town.random.random() < 0.4, all_groups=town.random.random() < 0.2,
            )  # fmt: skip
        except KeyRefused:
            continue
        found.append(raw)
    return found


def do_something(town: Town, hands: Hands) -> None:
    """Make one random request as the actor; most are refused."""
    principals = hands.principals()
    if not principals:
        return
    by = town.random.choice(principals)
    actions: list[Callable[..., None]] = [make_a_key, make_a_key, rotate_one, revoke_one]
    if isinstance(by, User) and by.is_staff:  # the pages about people are for staff
        actions += [change_groups, invite_someone, switch_someone, make_an_account]
    town.random.choice(actions)(town, hands, by)


def make_a_key(town: Town, hands: Hands, by: Principal) -> None:
    _, raw = create_key(
        by=by, name="new", groups=town.some_groups(), scopes=town.some_scopes(),
        owner=town.random.choice([None, *town.people, *hands.accounts]),
        acts_for_users=town.random.random() < 0.4, expires_at=town.some_end(),
        all_groups=town.random.random() < 0.2,
    )  # fmt: skip
    hands.raw_keys.append(raw)


def rotate_one(town: Town, hands: Hands, by: Principal) -> None:
    key = any_key(town)
    lifetime = town.random.choice([None, timedelta(days=1), timedelta(days=9999)])
    hands.raw_keys.append(rotate_key(by=by, key=key, lifetime=lifetime)[1])


def any_key(town: Town) -> ApiKey:
    """Return a key; raise KeyRefused if there is none yet."""
    keys = list(ApiKey.objects.order_by("pk"))
    if not keys:
        raise KeyRefused
    return town.random.choice(keys)


def revoke_one(town: Town, hands: Hands, by: Principal) -> None:
    revoke_key(by=by, key=any_key(town))


def change_groups(town: Town, hands: Hands, by: User) -> None:
    change = town.random.choice([add_to_group, add_to_group, take_out_of_group])
    person = town.random.choice([by, *town.people])
    change(by=by, person=person, group=town.random.choice(town.groups))


def switch_someone(town: Town, hands: Hands, by: User) -> None:
    change = town.random.choice([deactivate, reactivate])
    change(by=by, person=town.random.choice(town.people))


def make_an_account(town: Town, hands: Hands, by: User) -> None:
    name = f"account {User.objects.count()}".replace(" ", "-")
    town.people.append(create_service_account(by=by, name=name, groups=town.some_groups()))


def invite_someone(town: Town, hands: Hands, by: User) -> None:
    """Have the actor invite an address of their own and accept."""
    name = f"invited-{User.objects.count()}"
    role = town.random.choice(Invitation.Role.values)
    _, raw = invite(by=by, email=f"{name}@example.com", groups=town.some_groups(), role=role)
    hands.accounts.append(accept(raw=raw, username=name, password="correct horse battery"))


REFUSALS = (DelegationRefused, KeyRefused, PeopleRefused)


def gained(before: frozenset[str], after: frozenset[str]) -> set[str]:
    """Return the words gained. An account that an admin invited acts only for itself, in groups
    that the admin could have joined: that is no power over anyone else."""
    new = ServiceAccount.objects.values_list("user_id", flat=True)
    accepted = Invitation.objects.exclude(person=None).values_list("person_id", flat=True)
    known = {f"as {pk} with {scope}" for pk in (*new, *accepted) for scope in SCOPES}
    return set(after - before - known - implied_by(before))


def implied_by(words: frozenset[str]) -> set[str]:
    """Return the words implied by acting for a group's members."""
    members = User.groups.through.objects.values_list("group_id", "user_id")
    pairs = [*members, *((0, pk) for pk in User.objects.values_list("pk", flat=True))]
    return {
        f"as {user} with {scope}"
        for group, user in pairs
        for scope in SCOPES
        if f"for members of {group} with {scope}" in words
    }


@pytest.mark.django_db
@settings(max_examples=EXAMPLES_OF_WORLDS, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_sequence_of_requests_increases_the_reach_of_an_actor(seed: int) -> None:
    random = Random(seed)
    with transaction.atomic():
        town = build(random)
        keys = issue_first_keys(town)
        hands = Hands(
            random.choice([None, *town.people[:5]]), random.sample(keys, min(2, len(keys)))
        )
        before = reach_of(hands)
        for _ in range(12):
            try:
                with transaction.atomic():
                    do_something(town, hands)
            except REFUSALS:
                continue
            assert not gained(before, reach_of(hands))
        transaction.set_rollback(True)
