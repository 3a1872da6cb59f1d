"""A group's page, its tree of spaces, and the rules in a space."""

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from acl.models import AuditEntry, Space
from catalog.models import Capability, Rule
from tests.factories import CapabilityFactory, GroupFactory, give, lay_down
from tests.pages.access_changes import may_use, save


@pytest.fixture
def root(support: Group) -> Space:
    return Space.objects.get(group=support, parent=None)


@pytest.fixture
def project(root: Space) -> Space:
    return Space.objects.create(group=root.group, parent=root, name="Project", slug="project")


def rule_about(target: Capability, **fields: str) -> dict[str, str]:
    """Return the form's fields, by default for a deny for everyone."""
    return {"effect": "0", "whom": "everyone", "target": f"capability-{target.pk}", **fields}


def test_groups_are_listed_and_searched(as_admin: Client, support: Group) -> None:
    GroupFactory.create(name="Sales", open=True)

    assert "Support" in as_admin.get("/access/groups/").content.decode()
    assert "Sales" not in as_admin.get("/access/groups/?q=supp").context["found"].rows.__str__()


def test_a_group_shows_people_spaces_and_grants(
    as_admin: Client, support: Group, alice: User, gmail: Capability, project: Space
) -> None:
    give(CapabilityFactory.create(full_name="jira__search", display_name="Jira search"), support)
    lay_down(Rule.Effect.DENY, gmail, project)

    text = as_admin.get(f"/access/groups/{support.pk}/").content.decode()

    for words in ("alice", "Project", "1 rule", "Gmail", "jira__search", "Allow-listed"):
        assert words in text


def test_what_a_group_was_given_is_searched(
    as_admin: Client, support: Group, gmail: Capability, calendar: Capability
) -> None:
    grants = as_admin.get(f"/access/groups/{support.pk}/?q=cal").context["grants"]

    assert [integration.slug for integration in grants.integrations] == ["calendar"]


def test_a_search_in_a_group_finds_its_rules_too(
    as_admin: Client, support: Group, gmail: Capability, project: Space
) -> None:
    rule = lay_down(Rule.Effect.DENY, gmail, project)

    assert as_admin.get(f"/access/groups/{support.pk}/?q=gmail").context["rules"] == [rule]


def test_giving_leads_to_the_look_at_it(as_admin: Client, support: Group) -> None:
    jira = CapabilityFactory.create(full_name="jira__search")

    found = as_admin.get(f"/access/groups/{support.pk}/give/?target_q=jira")
    looked = as_admin.post(
        f"/access/groups/{support.pk}/give/", {"target": f"capability-{jira.pk}"}
    )

    assert "jira__search" in found.content.decode()
    assert looked.context["sentences"] == ["Grant jira__search to Support"]


def test_giving_nothing_is_explained_beside_the_field(as_admin: Client, support: Group) -> None:
    response = as_admin.post(f"/access/groups/{support.pk}/give/", {})

    assert response.status_code == 422
    assert "Choose an integration or a tool." in response.content.decode()


def test_a_space_is_added_renamed_and_removed(
    as_admin: Client, support: Group, root: Space
) -> None:
    added = as_admin.post(
        f"/access/groups/{support.pk}/", {"name": "Night shift", "parent": str(root.pk)}
    )
    space = Space.objects.get(name="Night shift")
    as_admin.post(f"/access/spaces/{space.pk}/rename/", {"name": "Late shift"})
    space.refresh_from_db()
    name = space.name
    removed = as_admin.post(f"/access/spaces/{space.pk}/delete/")

    assert added["Location"] == f"/access/spaces/{space.pk}/"
    assert name == "Late shift"
    assert removed["Location"] == f"/access/groups/{support.pk}/"
    assert not Space.objects.filter(pk=space.pk).exists()
    assert AuditEntry.objects.filter(action__startswith="space.").count() == 3


@pytest.mark.parametrize("name", ["", "  "])
def test_a_space_without_a_name_is_refused(
    as_admin: Client, support: Group, root: Space, name: str
) -> None:
    response = as_admin.post(
        f"/access/groups/{support.pk}/", {"name": name, "parent": str(root.pk)}
    )

    assert response.status_code == 422
    assert "Enter a name" in response.content.decode()


def test_another_groups_space_is_no_parent(as_admin: Client, support: Group) -> None:
    elsewhere = Space.objects.get(group=GroupFactory.create(), parent=None)

    response = as_admin.post(
        f"/access/groups/{support.pk}/", {"name": "Spy", "parent": str(elsewhere.pk)}
    )

    assert response.status_code == 422
    assert not Space.objects.filter(name="Spy").exists()


def test_removing_a_space_says_what_goes_and_what_stays(
    as_admin: Client, project: Space, gmail: Capability
) -> None:
    Space.objects.create(group=project.group, parent=project, name="Below", slug="below")
    lay_down(Rule.Effect.DENY, gmail, project)

    text = as_admin.get(f"/access/spaces/{project.pk}/delete/").content.decode()

    assert "gmail__send_email" in text
    assert "Below" in text
    assert "and 1 rule" in text
    assert Space.objects.filter(pk=project.pk).exists()


def test_moving_a_space_says_which_rules_change(
    as_admin: Client, root: Space, project: Space, gmail: Capability
) -> None:
    department = Space.objects.create(group=root.group, parent=root, name="Dep", slug="dep")
    rule = lay_down(Rule.Effect.DENY, gmail, department)
    address = f"/access/spaces/{project.pk}/move/"

    looked = as_admin.get(address, {"parent": department.pk})
    as_admin.post(address, {"parent": department.pk})

    assert (looked.context["gains"], looked.context["loses"]) == ([rule], [])
    project.refresh_from_db()
    assert project.parent == department


def test_a_space_is_not_moved_under_itself(as_admin: Client, project: Space) -> None:
    below = Space.objects.create(group=project.group, parent=project, name="Below", slug="below")

    response = as_admin.post(f"/access/spaces/{project.pk}/move/", {"parent": below.pk})

    assert response.status_code == 422
    assert "cannot be moved below itself" in response.content.decode()


@pytest.mark.parametrize("verb", ["move", "delete"])
def test_the_root_stays(as_admin: Client, root: Space, project: Space, verb: str) -> None:
    response = as_admin.post(f"/access/spaces/{root.pk}/{verb}/", {"parent": project.pk})

    assert response.status_code == 422
    assert Space.objects.filter(pk=root.pk, parent=None).exists()


def test_a_space_lists_its_rules_and_those_above_by_distance(
    as_admin: Client, root: Space, project: Space, gmail: Capability
) -> None:
    far = lay_down(Rule.Effect.DENY, gmail.integration, root)
    near = lay_down(Rule.Effect.ALLOW, gmail, project)

    levels = as_admin.get(f"/access/spaces/{project.pk}/").context["levels"]

    assert [(level.distance, [row.rule for row in rows]) for level, rows in levels] == [
        (0, [near]),
        (1, [far]),
    ]


def test_a_rule_is_looked_at_saved_and_removed(
    as_admin: Client, support: Group, alice: User, root: Space, gmail: Capability
) -> None:
    looked = as_admin.post(f"/access/spaces/{root.pk}/", rule_about(gmail))
    save(as_admin, looked.context["lines"])
    denied = may_use(alice, support, gmail)
    ((_, rows),) = as_admin.get(f"/access/spaces/{root.pk}/").context["levels"]
    save(as_admin, rows[0].line)

    assert looked.context["sentences"] == [
        "In Root of Support: deny gmail__send_email for everyone"
    ]
    assert not denied
    assert may_use(alice, support, gmail)
    actions = AuditEntry.objects.values_list("action", flat=True)
    assert {"rule.add", "rule.remove"} <= set(actions)


def test_a_rule_may_be_for_one_person_or_one_group(
    as_admin: Client, support: Group, alice: User, root: Space, gmail: Capability
) -> None:
    for fields in ({"whom": "user", "person": "alice"}, {"whom": "group", "role": support.pk}):
        looked = as_admin.post(f"/access/spaces/{root.pk}/", rule_about(gmail) | fields)
        save(as_admin, looked.context["lines"])

    subjects = [(rule.user, rule.group) for rule in Rule.objects.order_by("pk")]
    assert subjects == [(alice, None), (None, support)]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"target": ""}, "Choose an integration or a tool."),
        ({"target": "capability-0"}, "This no longer exists."),
        ({"target": "user-1"}, "This no longer exists."),
        ({"whom": "user", "person": "nobody"}, "No user has this name."),
        ({"whom": "group"}, "Choose a group."),
        ({"effect": ""}, "Choose an effect."),
    ],
)
def test_a_rule_that_is_not_whole_is_explained_beside_the_field(
    as_admin: Client, root: Space, gmail: Capability, fields: dict[str, str], words: str
) -> None:
    response = as_admin.post(f"/access/spaces/{root.pk}/", rule_about(gmail) | fields)

    assert response.status_code == 422
    assert words in response.content.decode()
    assert not Rule.objects.exists()


def test_what_surprises_is_said_before_saving(
    as_admin: Client, root: Space, project: Space, gmail: Capability, alice: User
) -> None:
    lay_down(Rule.Effect.DENY, gmail.integration, project)
    lay_down(Rule.Effect.DENY, gmail, root)
    address = f"/access/spaces/{project.pk}/warnings/"
    allow = rule_about(gmail, effect="2")
    broad = allow | {"target": f"integration-{gmail.integration_id}"}
    asked = [(27, allow), (30, broad), (30, broad | {"whom": "user", "person": "alice"})]

    told = [
        [warning.case for warning in as_admin.get(address, query).context["warnings"]]
        for _, query in asked
    ]

    for (case, _), cases in zip(asked, told, strict=True):
        assert case in cases
    assert "What works:" in as_admin.get(address, allow).content.decode()


def test_the_look_at_a_rule_repeats_the_warning(
    as_admin: Client, project: Space, gmail: Capability
) -> None:
    lay_down(Rule.Effect.DENY, gmail.integration, project)

    looked = as_admin.post(f"/access/spaces/{project.pk}/", rule_about(gmail, effect="2"))

    assert [warning.case for warning in looked.context["surprises"]] == [27]


def test_a_rule_that_is_not_whole_warns_of_nothing(as_admin: Client, project: Space) -> None:
    response = as_admin.get(f"/access/spaces/{project.pk}/warnings/", {"effect": "2"})

    assert response.status_code == 200
    assert response.content.decode().strip() == ""


def test_targets_are_found_by_name(as_admin: Client, gmail: Capability) -> None:
    text = as_admin.get("/access/find/targets/?target_q=gmail").content.decode()

    assert f"integration-{gmail.integration_id}" in text
    assert f"capability-{gmail.pk}" in text
    assert "No matches." in as_admin.get("/access/find/targets/?target_q=spoon").content.decode()
