"""Probes beyond the known attacks: names, lineages of keys, container images."""

import pytest
from django.contrib.auth.models import User

from acl.keys.lifecycle import create_key, holder_of
from acl.models import ApiKey, ServiceAccount
from acl.people._invitations import accept, invite
from acl.people.people import PeopleRefused, ServiceAccountRefused, create_service_account
from catalog.formats.launches import parse_docker_image
from tests.access.people import People
from tests.factories import UserFactory
from tests.rights.conftest import Staff


@pytest.mark.parametrize("name", ["GRACE", "Grace", "head@example.com", "HEAD@example.com"])
def test_no_service_account_looks_like_someone(people: People, staff: Staff, name: str) -> None:
    User.objects.filter(pk=staff.root.pk).update(email="head@example.com")

    with pytest.raises(ServiceAccountRefused):
        create_service_account(by=staff.root, name=name, groups=[people.support])


@pytest.mark.parametrize("name", ["Head@example.com", "nobody@example.com"])
def test_an_address_as_a_name_is_refused_without_telling_whether_it_is_someones(
    people: People, staff: Staff, name: str
) -> None:
    User.objects.filter(pk=staff.root.pk).update(email="head@example.com")
    _, raw = invite(by=staff.root, email="eve@example.com", groups=[people.support])

    with pytest.raises(PeopleRefused, match="your own e-mail address"):
        accept(raw=raw, username=name, password="correct horse battery")


def test_ones_own_address_is_a_name(people: People, staff: Staff) -> None:
    _, raw = invite(by=staff.root, email="eve@example.com", groups=[people.support])

    person = accept(raw=raw, username="eve@example.com", password="correct horse battery")

    assert person.username == "eve@example.com"


def test_a_key_does_not_outlive_the_one_it_was_made_with(people: People, staff: Staff) -> None:
    robot = UserFactory.create(username="robot", password="!", groups=[people.support])
    ServiceAccount.objects.create(user=robot)
    scopes = ["admin", "execute"]
    _, first = create_key(
        by=staff.root, name="first", group=people.support, scopes=scopes,
        owner=robot, acts_for_users=True,
    )  # fmt: skip
    _, second = create_key(
        by=holder_of(first), name="second", group=people.support, scopes=scopes,
        acts_for_users=True,
    )  # fmt: skip

    robot.delete()

    assert holder_of(second) is None
    assert not ApiKey.objects.exists()


IMAGES = {
    ("docker", "run", "-v", "mcp/git:/data", "evil/one"): "evil/one",
    ("docker", "run", "--mount", "mcp/git", "evil"): "evil",
    ("docker", "run", "-e", "mcp/git", "evil/one:2"): "evil/one",
    ("docker", "run", "--rm", "-i", "registry:5000/mcp/git:1"): "registry:5000/mcp/git",
    ("docker", "run", "-i", "mcp/git@sha256:00", "other/one"): "mcp/git",
    ("docker", "run", "--unheard-of", "mcp/git", "evil/one"): "",
    ("docker", "run", "-i"): "",
}


@pytest.mark.parametrize(("command", "image"), IMAGES.items())
def test_the_value_of_an_option_is_not_taken_for_the_image(
    command: tuple[str, ...], image: str
) -> None:
    assert parse_docker_image(command) == image
