"""People, keys and invitations that a key made are within it, and end with it (Y1, KEY-2)."""

from datetime import timedelta
from random import Random
from threading import Event, Thread

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction

from acl.keys.lifecycle import KeyRefused, create_key, holder_of, revoke_key, rotate_key
from acl.models import ApiKey, AuthorizationCode, Invitation, RegisteredClient
from acl.people._invitations import accept, invite, open_invitation
from acl.people.people import PeopleRefused, deactivate
from acl.platform.clock import database_now
from acl.rights.delegation import DelegationRefused
from acl.rights.delegation.authority import KeyHolder
from tests.access.people import People
from tests.factories import GroupFactory, UserFactory

PASSWORD = "correct horse battery"
OF_A_PERSON = {"select", "discover", "execute"}


@pytest.fixture
def root(people: People) -> User:
    return UserFactory.create(
        username="root", is_staff=True, is_superuser=True, groups=[people.support, people.finance]
    )


def holder_and_key(owner: User, **about: object) -> tuple[KeyHolder, ApiKey]:
    key, raw = create_key(by=None, name="k", owner=owner, **about)  # type: ignore[arg-type]
    holder = holder_of(raw)
    assert holder is not None
    return holder, key


@pytest.mark.parametrize("seed", range(60))
def test_an_invited_person_has_no_more_than_the_key(people: People, root: User, seed: int) -> None:
    chance = Random(seed)
    owner = chance.choice([root, UserFactory.create(is_staff=True, groups=[people.support])])
    everywhere, ends = chance.random() < 0.4, chance.random() < 0.3
    scopes = {"admin", *chance.sample(ApiKey.Scope.values, chance.randint(1, 6))}
    holder, _ = holder_and_key(
        owner, scopes=scopes, all_groups=everywhere, acts_for_users=chance.random() < 0.5,
        group=None if everywhere else people.support,
        expires_at=database_now() + timedelta(minutes=10) if ends else None,
    )  # fmt: skip
    asked_for = chance.sample([people.support, people.finance], chance.randint(0, 2))
    role = chance.choice(Invitation.Role.values)
    if chance.random() < 0.3:
        people.finance.policy.joined_by_default = True
        people.finance.policy.save()

    try:
        _, link = invite(by=holder, email="new@example.com", groups=asked_for, role=role)
        person = accept(raw=link, username="newcomer", password=PASSWORD)
    except PeopleRefused:
        return

    joined = set(person.groups.values_list("pk", flat=True))
    assert not ends
    assert scopes >= (set(ApiKey.Scope.values) if person.is_superuser else OF_A_PERSON)
    assert everywhere or (joined and joined <= {people.support.pk} and not person.is_staff)
    assert not person.is_superuser or (owner == root and holder.acts_for_users)


def test_an_invitation_by_a_key_that_holds_as_much_is_accepted(people: People, root: User) -> None:
    holder, _ = holder_and_key(root, scopes=["admin", *OF_A_PERSON], group=people.support)

    _, link = invite(by=holder, email="new@example.com", groups=[people.support])

    assert accept(raw=link, username="newcomer", password=PASSWORD).groups.get() == people.support


@pytest.mark.parametrize("ending", ["revoked", "expired", "maker revoked"])
def test_an_invitation_ends_with_its_key(people: People, root: User, ending: str) -> None:
    scopes = ["admin", *OF_A_PERSON]
    maker, maker_key = holder_and_key(root, scopes=scopes, group=people.support)
    key, raw = create_key(by=maker, name="c", scopes=scopes, group=people.support, owner=root)
    holder = holder_of(raw)
    _, link = invite(by=holder, email="new@example.com", groups=[people.support])
    assert open_invitation(link)

    if ending == "expired":
        ApiKey.objects.filter(pk=key.pk).update(expires_at=database_now())
    else:
        revoke_key(by=root, key=key if ending == "revoked" else maker_key)

    assert open_invitation(link) is None
    with pytest.raises(PeopleRefused):
        accept(raw=link, username="newcomer", password=PASSWORD)


@pytest.mark.parametrize("seed", range(12))
def test_what_keys_made_of_each_other_ends_with_the_first(
    people: People, root: User, seed: int
) -> None:
    chance, texts = Random(seed), []
    scopes = ["admin", *OF_A_PERSON]
    holder, first = holder_and_key(root, scopes=scopes, group=people.support)
    newest = [(holder, first)]
    for _ in range(chance.randint(2, 6)):
        by, key = chance.choice(newest)
        if chance.random() < 0.5:
            made, raw = rotate_key(by=by, key=key)
        else:
            made, raw = create_key(by=by, name="c", scopes=scopes, group=people.support, owner=root)
        texts.append(raw)
        successor = holder_of(raw)
        assert successor is not None
        newest.append((successor, made))

    revoke_key(by=root, key=first)

    assert [holder_of(raw) for raw in texts] == [None] * len(texts)


def test_a_key_that_ended_after_it_was_recognised_makes_nothing(people: People, root: User) -> None:
    scopes = ["admin", *OF_A_PERSON]
    holder, key = holder_and_key(root, scopes=scopes, group=people.support)
    revoke_key(by=root, key=key)
    before = ApiKey.objects.count()

    with pytest.raises(DelegationRefused):
        create_key(by=holder, name="late", scopes=scopes, group=people.support, owner=root)
    with pytest.raises((DelegationRefused, KeyRefused)):
        rotate_key(by=holder, key=key)
    with pytest.raises(KeyRefused):
        rotate_key(by=root, key=key)
    with pytest.raises(DelegationRefused):
        invite(by=holder, email="new@example.com", groups=[people.support])

    assert ApiKey.objects.count() == before
    assert not Invitation.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_revocation_finds_what_is_being_made_meanwhile() -> None:
    group: Group = GroupFactory.create()
    root = UserFactory.create(username="root", is_staff=True, is_superuser=True, groups=[group])
    holder, key = holder_and_key(root, scopes=["admin"], group=group)
    ended = Event()

    def revoke() -> None:
        revoke_key(by=root, key=key)
        connection.close()
        ended.set()

    with transaction.atomic():
        _, raw = create_key(by=holder, name="c", scopes=["admin"], group=group, owner=root)
        revoking = Thread(target=revoke)
        revoking.start()
        assert not ended.wait(0.5)
    revoking.join()

    assert holder_of(raw) is None


def test_a_code_of_a_client_ends_with_the_person(people: People, root: User) -> None:
    client = RegisteredClient.objects.create(client_id="c", name="Desk", redirect_uris=[])
    _, other = (
        AuthorizationCode.objects.create(
            digest=person.username, client=client, person=person, redirect_uri="", scopes=[],
            resource="", challenge="", expires_at=database_now() + timedelta(minutes=1),
        )
        for person in (people.alice, people.bob)
    )  # fmt: skip

    deactivate(by=root, person=people.alice)

    assert list(AuthorizationCode.objects.all()) == [other]
