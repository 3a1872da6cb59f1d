"""Differences between django-guardian's answers and ours."""

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from guardian.core import ObjectPermissionChecker
from guardian.models import GroupObjectPermission, UserObjectPermission
from guardian.shortcuts import assign_perm, get_objects_for_user

from catalog.models import Capability
from tests.access.people import People
from tests.databases import as_superuser
from tests.factories import CapabilityFactory, give, take_away


def names(people: People) -> set[str]:
    return set(Capability.objects.usable_by(people.caller).values_list("full_name", flat=True))


def test_inactive_user_may_use_nothing_though_guardian_lists_it(people: People) -> None:
    give(people.delete_page, people.alice)
    people.alice.is_active = False
    people.alice.save()

    listed = get_objects_for_user(people.alice, "catalog.use_capability", Capability)

    assert people.delete_page in listed
    assert names(people) == set()


@pytest.mark.parametrize("codename", ["use_capability", "use_integration"])
def test_permission_on_the_model_opens_nothing(people: People, codename: str) -> None:
    permission = Permission.objects.get(codename=codename)
    people.alice.user_permissions.add(permission)
    people.support.permissions.add(permission)
    alice = User.objects.get(pk=people.alice.pk)

    assert alice.has_perm(f"catalog.{codename}")
    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}


def test_superuser_has_no_short_cut(people: People) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_superuser=True, is_staff=True)

    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}


def test_revoked_grant_is_gone_though_a_kept_checker_still_says_yes(people: People) -> None:
    checker = ObjectPermissionChecker(people.support)
    assert checker.has_perm("use_integration", people.gmail)

    take_away(people.gmail, people.support)

    assert checker.has_perm("use_integration", people.gmail)
    assert names(people) == {"wiki__read_page"}


def test_new_capability_inherits_nothing_from_the_old_one_with_its_key(people: People) -> None:
    key = people.read_page.pk
    people.read_page.delete()

    CapabilityFactory.create(pk=key, integration=people.wiki, action="drop_all_pages")

    assert names(people) == {"gmail__send_email", "gmail__search"}


def test_grants_are_rows_of_the_direct_tables_only(people: People) -> None:
    give(people.send, people.alice)

    assert not UserObjectPermission.objects.exists()
    assert not GroupObjectPermission.objects.exists()


def test_other_permission_on_the_object_does_not_count(people: People) -> None:
    assign_perm("catalog.view_integration", people.support, people.wiki)
    assign_perm("catalog.change_capability", people.alice, people.delete_page)

    assert "wiki__delete_page" not in names(people)


def test_permission_of_the_same_name_about_another_model_changes_nothing(people: People) -> None:
    other = ContentType.objects.get_for_model(Group).pk
    as_superuser(
        "INSERT INTO auth_permission (content_type_id, codename, name)"  # noqa: S608 - a number
        f" VALUES ({other}, 'use_integration', 'x')"
    )

    assert names(people) == {"gmail__send_email", "gmail__search", "wiki__read_page"}
