"""Django's admin: it has every table, writes through the services, and is audited."""

import re

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, Permission, User
from django.http import HttpRequest
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from acl.keys.lifecycle import holder_of
from acl.models import ApiKey, AuditEntry, Space
from acl.people.people import create_service_account
from acl.people.spaces import create_space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, IntegrationGroupPermission, Rule
from discovery.models import TurnReading
from tests.factories import GroupFactory, UserFactory, lay_down
from tests.pages.conftest import PASSWORD, sign_in
from tests.sessions import session_of

APPS = ("acl", "catalog", "discovery", "marketplace")
SEALED = {TurnReading}  # nobody can read them, and they end with their turn
REGISTERED = [model for model in django_admin.site._registry if model._meta.app_label in APPS]


def test_every_table_is_registered_or_shown_below_another() -> None:
    inlined = {
        inline.model
        for model_admin in django_admin.site._registry.values()
        for inline in model_admin.inlines
    }
    ours = {model for label in APPS for model in apps.get_app_config(label).get_models()}

    assert ours - set(REGISTERED) - inlined == SEALED


@pytest.mark.parametrize("scheme", ["https", "wss", "postgres"])
@pytest.mark.parametrize(
    "place",
    ["{}@h.example/a", "u:{}@h.example", "h.example/{}/b", "h.example?k={}", "h.example#{}"],
)
def test_search_finds_an_address_by_its_host_alone(
    as_admin: Client, gmail: Capability, scheme: str, place: str
) -> None:
    address = f"{scheme}://{place.format('Zq71')}"
    Capability.objects.filter(pk=gmail.pk).update(description=f"Reads {address} and more.")
    path = "/admin/catalog/capability/"

    found = {
        word: str(gmail) in as_admin.get(path, {"q": word}).content.decode()
        for word in ("h.example", '"and more"', "Zq", "q71")
    }

    assert [word for word, there in found.items() if not there] == ["Zq", "q71"]


def test_every_search_leaves_out_what_addresses_hide() -> None:
    for model in REGISTERED:
        its = django_admin.site._registry[model]
        rows, _ = its.get_search_results(HttpRequest(), model._default_manager.all(), "word")
        assert not its.search_fields or "regexp_replace" in str(rows.query), model


@pytest.mark.parametrize(
    ("path", "column", "shown"),
    [
        ("discovery/chatmessage", "text", "state"),
        ("discovery/modelrequest", "body", "state"),
        ("discovery/serverrequest", "result_json", "method"),
        ("discovery/call", "result_json", "state"),
    ],
)
def test_no_list_is_filtered_by_a_column_that_is_hidden(
    as_admin: Client, path: str, column: str, shown: str
) -> None:
    hidden = as_admin.get(f"/admin/{path}/", {f"{column}__startswith": "a"})

    assert hidden.status_code == 400
    assert as_admin.get(f"/admin/{path}/", {f"{shown}__exact": "a"}).status_code in (200, 302)


def test_hidden_columns_are_no_lookups_of_any_admin() -> None:
    for model in REGISTERED:
        its = django_admin.site._registry[model]
        filters = [one for one in its.list_filter if isinstance(one, str)]

        assert all(its.lookup_allowed(f"{name}__exact", "1", HttpRequest()) for name in filters), (
            model
        )
        for name in its.exclude or ():
            assert not its.lookup_allowed(f"{name}__regex", "a", HttpRequest()), (model, name)


def test_filters_of_an_admins_own_open(as_admin: Client) -> None:
    filters = [
        (model._meta.label_lower.replace(".", "/"), str(own.parameter_name))
        for model in REGISTERED
        for own in django_admin.site._registry[model].list_filter
        if isinstance(own, type) and issubclass(own, django_admin.SimpleListFilter)
    ]

    assert filters
    for path, parameter in filters:
        assert as_admin.get(f"/admin/{path}/", {parameter: "failed"}).status_code == 200, path


@pytest.mark.django_db
def test_search_finds_only_lists_that_the_person_may_view() -> None:
    staff = UserFactory.create(username="staff", is_staff=True)
    client = session_of(staff)
    query = {"s": "key", "extended": "1"}

    before = client.get("/admin/search/", query).content.decode()
    staff.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    given = client.get("/admin/search/", query).content.decode()
    staff.user_permissions.clear()
    after = client.get("/admin/search/", query).content.decode()

    address = 'href="/admin/acl/apikey/"'
    assert (address in before, address in given, address in after) == (False, True, False)
    assert given.count("href=") == 1


@pytest.mark.parametrize("query", [{}, {"s": "key"}, {"s": "key", "extended": "1", "page": "99"}])
def test_search_answers_whatever_is_asked(as_admin: Client, query: dict[str, str]) -> None:
    answer = as_admin.get("/admin/search/", query)

    assert answer.status_code == 200
    assert (b"/admin/acl/apikey/" in answer.content) == bool(query)


def test_only_staff_come_in(as_alice: Client) -> None:
    assert as_alice.get("/admin/").status_code == 302


def test_a_new_key_is_shown_once_and_works(as_admin: Client, support: Group) -> None:
    response = as_admin.post(
        "/admin/acl/apikey/add/",
        {"name": "chat", "groups": [support.pk], "scopes": ["select"], "acts_for_users": "on"},
    )

    raw = re.search(r"pb_[\w-]{40,}", response.content.decode())
    assert raw is not None
    holder = holder_of(raw.group())
    assert holder is not None
    assert holder.name == "chat"
    assert "no-store" in response["Cache-Control"]
    assert raw.group() not in as_admin.get("/admin/acl/apikey/").content.decode()


def test_a_key_for_nobody_is_refused_beside_the_form(as_admin: Client, support: Group) -> None:
    response = as_admin.post(
        "/admin/acl/apikey/add/", {"name": "chat", "groups": [support.pk], "scopes": ["select"]}
    )

    assert (
        "The key needs an owner, or must be allowed to act for users" in response.content.decode()
    )
    assert not ApiKey.objects.exists()


def test_a_key_is_withdrawn_by_the_lists_action(as_admin: Client, support: Group) -> None:
    form = {"name": "chat", "groups": [support.pk], "scopes": ["select"], "acts_for_users": "on"}
    as_admin.post("/admin/acl/apikey/add/", form)
    key = ApiKey.objects.get()

    as_admin.post("/admin/acl/apikey/", {"action": "withdraw", "_selected_action": [key.pk]})

    key.refresh_from_db()
    assert key.revoked_at is not None


def test_no_page_of_a_key_shows_its_digest(as_admin: Client, support: Group) -> None:
    form = {"name": "chat", "groups": [support.pk], "scopes": ["select"], "acts_for_users": "on"}
    as_admin.post("/admin/acl/apikey/add/", form)
    key = ApiKey.objects.get()

    text = as_admin.get(f"/admin/acl/apikey/{key.pk}/change/").content.decode()

    assert key.prefix in text
    assert key.digest not in text


def test_a_grant_is_a_row_below_its_integration(as_admin: Client, gmail: Capability) -> None:
    sales = GroupFactory.create(name="Sales")
    charlie = UserFactory.create(groups=[sales])

    _save_integration(as_admin, gmail, groups=[sales])

    caller = Caller(charlie.pk, sales.pk)
    assert list(Capability.objects.usable_by(caller)) == [gmail]
    entry = AuditEntry.objects.get(action="integration.change")
    assert "Sales" in str(entry.details)


def test_the_same_grant_twice_is_refused(as_admin: Client, gmail: Capability) -> None:
    sales = GroupFactory.create(name="Sales")

    response = _save_integration(as_admin, gmail, groups=[sales, sales])

    assert "Sales is listed twice." in response
    assert not IntegrationGroupPermission.objects.filter(group=sales).exists()


def test_a_corrected_category_is_not_worked_out_any_longer(
    as_admin: Client, gmail: Capability
) -> None:
    Capability.objects.update(category_inferred=True)
    before = gmail.embeddings.get().text_hash

    _save_capability(as_admin, gmail, category="Customer  Care")

    gmail.refresh_from_db()
    assert (gmail.category, gmail.category_inferred) == ("customer-care", False)
    assert gmail.embeddings.get().text_hash != before
    assert AuditEntry.objects.filter(action="capability.change").count() == 1


def test_what_the_source_says_cannot_be_changed(as_admin: Client, gmail: Capability) -> None:
    _save_capability(as_admin, gmail, category="communication", description="Another")

    gmail.refresh_from_db()
    assert gmail.description == "Write an email to someone."


def test_the_audit_log_is_only_read(as_admin: Client, gmail: Capability) -> None:
    _save_capability(as_admin, gmail, category="care")
    entry = AuditEntry.objects.first()
    assert entry is not None

    assert as_admin.get("/admin/acl/auditentry/add/").status_code == 403
    assert as_admin.post(f"/admin/acl/auditentry/{entry.pk}/delete/").status_code == 403
    assert as_admin.post(f"/admin/acl/auditentry/{entry.pk}/change/", {}).status_code == 403


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_its_scripts_run_under_its_policy(
    page: Page, admin: User, gmail: Capability, live_server: LiveServer
) -> None:
    sign_in(page, admin, live_server)

    page.goto("/admin/catalog/capability/")

    expect(page.get_by_role("link", name="gmail__send_email")).to_be_visible()


def _save_integration(client: Client, gmail: Capability, groups: list[Group]) -> str:
    rows = {
        f"integrationgrouppermission_set-{number}-group": group.pk
        for number, group in enumerate(groups, 1)
    }
    had = IntegrationGroupPermission.objects.get()
    response = client.post(
        f"/admin/catalog/integration/{gmail.integration_id}/change/",
        {
            "enabled": "on",
            "state": "approved",
            "integrationgrouppermission_set-TOTAL_FORMS": len(groups) + 1,
            "integrationgrouppermission_set-INITIAL_FORMS": 1,
            "integrationgrouppermission_set-0-id": had.pk,
            "integrationgrouppermission_set-0-content_object": gmail.integration_id,
            "integrationgrouppermission_set-0-group": had.group_id,
            "integrationuserpermission_set-TOTAL_FORMS": 0,
            "integrationuserpermission_set-INITIAL_FORMS": 0,
            **rows,
        },
    )
    return response.content.decode()


def _save_capability(client: Client, gmail: Capability, **fields: str) -> None:
    response = client.post(
        f"/admin/catalog/capability/{gmail.pk}/change/",
        {
            "state": "approved",
            "ai_access": "propose",
            "capabilitygrouppermission_set-TOTAL_FORMS": 0,
            "capabilitygrouppermission_set-INITIAL_FORMS": 0,
            "capabilityuserpermission_set-TOTAL_FORMS": 0,
            "capabilityuserpermission_set-INITIAL_FORMS": 0,
            **fields,
        },
    )
    assert response.status_code == 302, response.content.decode()


@pytest.fixture
def robot(support: Group) -> User:
    return create_service_account(by=None, name="robot", groups=[support])


def test_a_service_account_is_given_no_password(as_admin: Client, robot: User) -> None:
    typed = dict.fromkeys(("password1", "password2"), PASSWORD)

    response = as_admin.post(f"/admin/auth/user/{robot.pk}/password/", typed)

    assert response.status_code == 200
    assert "A service account has no password" in response.content.decode()
    robot.refresh_from_db()
    assert not robot.has_usable_password()


@pytest.fixture
def office(support: Group, gmail: Capability) -> dict[str, Space]:
    """An office below the root and a desk in it, each with a rule."""
    root = Space.objects.get(group=support, parent=None)
    office = create_space(by=None, group=support, parent=root, name="Office")
    desk = create_space(by=None, group=support, parent=office, name="Desk")
    for space in (office, desk):
        lay_down(Rule.Effect.DENY, gmail.integration, space)
    return {"root": root, "office": office, "desk": desk}


def test_removing_a_space_says_what_goes_and_what_stays(
    as_admin: Client, office: dict[str, Space]
) -> None:
    path = f"/admin/acl/space/{office['office'].pk}/delete/"

    text = as_admin.get(path).content.decode()
    gone, stays = text.split("These spaces stay, with their own rules")
    as_admin.post(path, {"post": "yes"})

    assert len(re.findall(r"/admin/catalog/rule/\d+/change/", gone)) == 1
    assert "Desk (Support/desk)" in stays
    office["desk"].refresh_from_db()
    assert office["desk"].parent == office["root"]
    assert [rule.space for rule in Rule.objects.all()] == [office["desk"]]
    entry = AuditEntry.objects.get(action="space.removed")
    assert (entry.by_name, entry.details["moved up"]) == ("root", ["desk"])
    assert not AuditEntry.objects.filter(action="space.delete").exists()


def test_several_spaces_are_removed_at_once_but_never_a_root(
    as_admin: Client, office: dict[str, Space]
) -> None:
    below = create_space(by=None, group=office["root"].group, parent=office["desk"], name="Drawer")
    pks = [office["office"].pk, office["desk"].pk]
    chosen = {"action": "delete_selected", "_selected_action": pks}

    asked = as_admin.post("/admin/acl/space/", chosen).content.decode()
    with_root = {**chosen, "_selected_action": [office["root"].pk], "post": "yes"}
    refused = as_admin.post("/admin/acl/space/", with_root).content.decode()
    alone = as_admin.post(f"/admin/acl/space/{office['root'].pk}/delete/", {"post": "yes"})
    as_admin.post("/admin/acl/space/", {**chosen, "post": "yes"})

    assert "Drawer (Support/drawer)" in asked
    for text in (refused, alone.content.decode()):
        assert "The root space of a group cannot be deleted" in text
    below.refresh_from_db()
    assert below.parent == office["root"]
    assert set(Space.objects.filter(group=below.group)) == {office["root"], below}


def test_a_group_is_deleted_with_its_spaces(as_admin: Client, office: dict[str, Space]) -> None:
    sales = GroupFactory.create(name="Sales")

    as_admin.post(f"/admin/auth/group/{sales.pk}/delete/", {"post": "yes"})

    assert not Group.objects.filter(pk=sales.pk).exists()


def test_spaces_are_made_moved_and_renamed_by_the_service(
    as_admin: Client, office: dict[str, Space], support: Group
) -> None:
    root, desk = office["root"], office["desk"]
    path = f"/admin/acl/space/{desk.pk}/change/"

    as_admin.post("/admin/acl/space/add/", {"group": support.pk, "parent": "", "name": "Lab"})
    as_admin.post(path, {"parent": root.pk, "name": "Table"})
    ring = as_admin.post(
        f"/admin/acl/space/{office['office'].pk}/change/",
        {"parent": office["office"].pk, "name": "Office"},
    )

    assert Space.objects.get(slug="lab").parent == root
    desk.refresh_from_db()
    assert (desk.name, desk.slug, desk.parent) == ("Table", "desk", root)
    assert "cannot be moved below itself" in ring.content.decode()
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert list(actions)[-3:] == ["space.created", "space.renamed", "space.moved"]


def test_what_the_database_would_refuse_is_told_beside_the_form(
    as_admin: Client, office: dict[str, Space], admin: User, support: Group, gmail: Capability
) -> None:
    rule = {"space": office["root"].pk, "effect": "0", "capability": gmail.pk}
    wrong: list[tuple[str, dict[str, object]]] = [
        ("catalog/rule", {**rule, "integration": gmail.integration_id}),
        ("catalog/rule", {**rule, "user": admin.pk, "group": support.pk}),
        ("catalog/rule", {"space": office["root"].pk, "effect": "0"}),
        ("acl/grouppolicy", {"group": support.pk}),
        (
            "acl/space",
            {"group": GroupFactory.create().pk, "parent": office["root"].pk, "name": "x"},
        ),
        ("acl/space", {"group": support.pk, "name": " "}),
    ]

    answers = [as_admin.post(f"/admin/{place}/add/", body) for place, body in wrong]

    for (place, body), answer in zip(wrong, answers, strict=True):
        assert answer.status_code == 200, (place, body)
        assert answer.context["errors"], (place, body)
