"""The tree of spaces keeps its structure under all operations."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from acl.models import AuditEntry, GroupPolicy, Space
from acl.people.spaces import (
    SpaceRefused,
    create_space,
    delete_space,
    ensure_root,
    move_space,
    rename_space,
    set_open,
)
from catalog.models import Rule
from tests.access.people import People
from tests.factories import lay_down


def root_of(group: Group) -> Space:
    return Space.objects.get(group=group, parent=None)


def below(parent: Space, name: str) -> Space:
    return create_space(by=None, group=parent.group, parent=parent, name=name)


def actions() -> list[str]:
    return list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))


def test_new_space_hangs_below_its_parent_and_is_in_the_log(people: People) -> None:
    desk = create_space(by=people.bob, group=people.support, parent=None, name="Night  desk")

    assert (desk.name, desk.slug, desk.parent) == ("Night desk", "night-desk", root_of(desk.group))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.target, entry.by) == (
        "space.created",
        "support/night-desk",
        people.bob,
    )


@pytest.mark.parametrize(
    ("name", "slugs"),
    [
        ("Desk", ["desk", "desk-2", "desk-3"]),
        ("Бюро", ["space", "space-2", "space-3"]),
        ("x" * 120, ["x" * 60, "x" * 58 + "-2", "x" * 58 + "-3"]),
    ],
)
def test_slugs_are_unique_in_the_group(people: People, name: str, slugs: list[str]) -> None:
    root = root_of(people.support)

    assert [below(root, name).slug for _ in range(3)] == slugs
    assert below(root_of(people.finance), name).slug == slugs[0]


@pytest.mark.parametrize("name", ["", "  ", "x" * 121])
def test_space_needs_a_name(people: People, name: str) -> None:
    with pytest.raises(SpaceRefused):
        below(root_of(people.support), name)


def test_renamed_space_keeps_its_slug(people: People) -> None:
    desk = below(root_of(people.support), "Desk")

    rename_space(by=people.bob, space=desk, name="Front desk")

    desk.refresh_from_db()
    assert (desk.name, desk.slug) == ("Front desk", "desk")
    assert actions() == ["space.created", "space.renamed"]


def test_parent_of_another_group_is_refused(people: People) -> None:
    desk = below(root_of(people.support), "Desk")
    foreign = root_of(people.finance)

    with pytest.raises(SpaceRefused):
        create_space(by=None, group=people.support, parent=foreign, name="Night")
    with pytest.raises(SpaceRefused):
        move_space(by=None, space=desk, parent=foreign)


def test_space_takes_all_below_it_along(people: People) -> None:
    root = root_of(people.support)
    day, night = below(root, "Day"), below(root, "Night")
    desk = below(day, "Desk")

    move_space(by=people.bob, space=day, parent=night)

    assert Space.objects.get(pk=day.pk).parent == night
    assert Space.objects.get(pk=desk.pk).parent == day
    assert actions()[-1] == "space.moved"


def test_space_is_not_moved_under_itself(people: People) -> None:
    day = below(root_of(people.support), "Day")
    desk = below(below(day, "Front"), "Desk")

    for parent in (day, desk):
        with pytest.raises(SpaceRefused):
            move_space(by=None, space=day, parent=parent)


def test_root_is_neither_moved_nor_removed(people: People) -> None:
    root = root_of(people.support)
    desk = below(root, "Desk")

    with pytest.raises(SpaceRefused):
        move_space(by=None, space=root, parent=desk)
    with pytest.raises(SpaceRefused):
        delete_space(by=None, space=root)


def test_what_was_below_a_removed_space_moves_up_and_its_rules_go(people: People) -> None:
    root = root_of(people.support)
    day = below(root, "Day")
    desk = below(day, "Desk")
    lay_down(Rule.Effect.DENY, people.gmail, day)
    kept = lay_down(Rule.Effect.ALLOW, people.gmail, desk)

    delete_space(by=people.bob, space=day)

    assert Space.objects.get(pk=desk.pk).parent == root
    assert list(Rule.objects.all()) == [kept]
    entry = AuditEntry.objects.order_by("pk").last()
    assert entry is not None
    assert entry.details == {"parent": "root", "moved up": ["desk"], "rules": 1}


def test_tree_grows_no_deeper_than_the_statement_walks(people: People) -> None:
    place = root_of(people.support)
    for number in range(2, 33):
        place = below(place, f"Level {number}")
    other = below(root_of(people.support), "Other")
    below(other, "Below")

    with pytest.raises(SpaceRefused):
        below(place, "Level 33")
    with pytest.raises(SpaceRefused):
        move_space(by=None, space=other, parent=Space.objects.get(slug="level-31"))


def test_refused_change_leaves_no_entry(people: People) -> None:
    with pytest.raises(SpaceRefused):
        delete_space(by=None, space=root_of(people.support))

    assert actions() == []


def test_group_is_opened_and_closed_once(people: People) -> None:
    answers = [
        set_open(by=people.bob, group=people.support, is_open=is_open)
        for is_open in (True, True, False)
    ]

    assert answers == [True, False, True]
    assert actions() == ["group.opened", "group.closed"]


def at_the_end_of_the_transaction() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


@pytest.mark.django_db
def test_group_made_anywhere_gets_a_root_and_a_policy() -> None:
    one = Group.objects.create(name="sales")
    many = Group.objects.bulk_create(Group(name=f"team {number}") for number in range(3))

    at_the_end_of_the_transaction()

    for group in (one, *many):
        assert root_of(group).slug == "root"
        assert not GroupPolicy.objects.get(group=group).open_default


@pytest.mark.django_db
def test_group_made_with_a_root_keeps_it() -> None:
    group = Group.objects.create(name="sales")
    root = ensure_root(group)

    at_the_end_of_the_transaction()

    assert ensure_root(group) == root_of(group) == root


def test_removed_root_comes_back_empty(people: People) -> None:
    root = root_of(people.support)
    lay_down(Rule.Effect.ALLOW, people.gmail, below(root, "Desk"))

    root.delete()
    at_the_end_of_the_transaction()

    assert root_of(people.support).slug == "root"
    assert not Rule.objects.exists()


def test_removed_group_takes_everything_along(people: People) -> None:
    with transaction.atomic():
        below(root_of(people.support), "Desk")
        people.support.delete()

    at_the_end_of_the_transaction()

    assert not Space.objects.exclude(group=people.finance).exists()
