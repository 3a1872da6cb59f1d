"""Names that imitate others are refused wherever an account, group, key or space gets its name."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.test import Client

from acl.keys.lifecycle import KeyRefused, create_key
from acl.people._invitations import accept, invite
from acl.people.people import PeopleRefused
from acl.people.service_accounts import ServiceAccountRefused, create_service_account
from acl.people.spaces import SpaceRefused, create_space
from acl.visible_text.pieces import check_plain_name

pytestmark = pytest.mark.django_db
IMITATIONS = ["\u0430dmin", "ali\u0441e", "alice\u200b", "b\u202eob", "\uff41lice", "al\u0456ce"]
OWN_NAMES = [
    "alice",
    "Jürgen",
    "Ирина",
    "Νίκος",
    "山田太郎",
    "محمد",
    "Ana María",
    "o'neil",
    "x-1.2_3@y",
]
Door = Callable[[User, Group, str], object]


def _root() -> User:
    return User.objects.create_superuser("root")


def _by_invitation(root: User, group: Group, name: str) -> object:
    raw = invite(by=root, email="dora@example.com", groups=[group])[1]
    return accept(raw=raw, username=name, password="something long and new")


DOORS: dict[str, tuple[Door, type[Exception]]] = {
    "invitation": (_by_invitation, PeopleRefused),
    "service account": (
        lambda root, group, name: create_service_account(
            by=root, name=name, groups=[group], description=""
        ),
        ServiceAccountRefused,
    ),
    "key": (
        lambda root, group, name: create_key(by=root, name=name, scopes=["select"], group=group),
        KeyRefused,
    ),
    "space": (
        lambda root, group, name: create_space(by=root, group=group, parent=None, name=name),
        SpaceRefused,
    ),
}


@pytest.mark.parametrize("name", IMITATIONS)
def test_a_name_that_imitates_another_is_not_plain(name: str) -> None:
    with pytest.raises(ValidationError):
        check_plain_name(name)


@pytest.mark.parametrize("name", OWN_NAMES)
def test_names_of_any_one_alphabet_are_plain(name: str) -> None:
    check_plain_name(name)


@pytest.mark.parametrize("door", DOORS)
def test_imitation_is_refused_in_words(door: str) -> None:
    make, refusal = DOORS[door]
    root, group = _root(), Group.objects.create(name="support")

    with pytest.raises(refusal, match=r"Use letters of one alphabet"):
        make(root, group, IMITATIONS[0])


@pytest.mark.parametrize(
    ("address", "field", "others"),
    [
        (
            "/admin/auth/user/add/",
            "username",
            {"password1": "kY7-pq_x9Lm", "password2": "kY7-pq_x9Lm"},
        ),
        ("/admin/auth/group/add/", "name", {}),
    ],
)
def test_the_admin_refuses_it_beside_its_field(
    client: Client, address: str, field: str, others: dict[str, str]
) -> None:
    client.force_login(_root())

    answer = client.post(address, {field: IMITATIONS[0], **others})

    assert answer.status_code == 200
    assert "Use letters of one alphabet" in str(answer.context["errors"])
