"""My tools and the page of each: exactly the person's, tried by a form, with programs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from acl.models import AuditEntry, GroupPolicy
from catalog.models import Capability
from discovery.calls.approvals import approve_call
from discovery.calls.arguments import digest_of
from discovery.models import Call, ToolExample
from tests.factories import CapabilityFactory, GroupFactory, IntegrationFactory, UserFactory, give
from tests.sessions import session_of

# Session, user, groups; counts, rows and readiness; who approves; and one for all grounds.
QUERIES = 9  # one of them for what the application could carry out


def test_my_tools_asks_for_signing_in(client: Client) -> None:
    response = client.get("/tools/")

    assert response.status_code == 302
    assert response["Location"] == "/sign-in/?next=/tools/"


def test_tools_are_listed_with_the_reason_for_them(as_alice: Client, gmail: Capability) -> None:
    text = _text(as_alice, "/tools/")

    assert "Send mail" in text
    assert "because <em>Gmail</em> is granted to your group" in text
    assert "asks first" in text
    assert "writes" in text


def test_a_foreign_tool_is_neither_listed_nor_counted(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create(display_name="Pay salaries", category="finance")

    text = _text(as_alice, "/tools/")

    assert "Pay salaries" not in text
    assert "Finance" not in text


def test_search_goes_by_every_word(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    text = _text(as_alice, "/tools/?q=email+send")

    assert "Send mail" in text
    assert "List events" not in text


def test_categories_are_counted_within_the_search(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?q=meetings").context["found"]

    assert found.categories == (("planning", 1),)
    assert found.count == 1


def test_a_category_filters_the_rows_and_not_the_counts(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?category=planning").context["found"]

    assert [mine.capability.full_name for mine in found.tools] == ["calendar__list_events"]
    assert found.everywhere == 2


def test_what_asks_first_can_be_shown_alone(
    as_alice: Client, gmail: Capability, calendar: Capability
) -> None:
    found = as_alice.get("/tools/?show=asks").context["found"]

    assert [mine.capability.full_name for mine in found.tools] == ["gmail__send_email"]


def test_what_is_not_available_says_why(as_alice: Client, gmail: Capability) -> None:
    Capability.objects.update(available=False, unavailable_reason="Gmail is down until Monday.")

    assert "Gmail is down until Monday." in _text(as_alice, "/tools/?show=missing")


def test_wrong_filters_count_as_none(as_alice: Client, gmail: Capability) -> None:
    assert "Send mail" in _text(as_alice, "/tools/?kind=spoon&show=all&page=many")


def test_a_page_holds_fifty(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create_batch(60, integration=gmail.integration)

    found = as_alice.get("/tools/?page=2").context["found"]

    assert (found.page, found.pages, found.count, len(found.tools)) == (2, 2, 61, 11)


def test_a_page_beyond_the_last_is_the_last(as_alice: Client, gmail: Capability) -> None:
    assert as_alice.get("/tools/?page=99").context["found"].page == 1


def test_htmx_gets_only_the_part_that_changes(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/tools/", headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()
    assert "Send mail" in response.content.decode()
    assert "HX-Request" in response["Vary"]


def test_without_tools_the_page_says_what_to_do(as_alice: Client) -> None:
    text = _text(as_alice, "/tools/")

    assert "No tools yet" in text
    assert "/tools/requests/" in text


def test_without_a_group_the_page_says_whom_to_ask(as_alice: Client, alice: User) -> None:
    alice.groups.clear()

    assert "You are not in a group yet" in _text(as_alice, "/tools/")


@pytest.mark.parametrize("rows", [2, 20])
def test_the_list_needs_the_same_statements_for_any_number_of_rows(
    as_alice: Client,
    gmail: Capability,
    rows: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(rows - 1):
        capability = CapabilityFactory.create()
        give(capability.integration, gmail.integration.integrationgrouppermission_set.get().group)

    with django_assert_num_queries(QUERIES):
        response = as_alice.get("/tools/")

    assert response.context["found"].count == rows


def test_an_open_group_is_given_as_the_reason(as_alice: Client, support: Group) -> None:
    GroupPolicy.objects.filter(group=support).update(open_default=True)
    CapabilityFactory.create(display_name="Look up a word")

    assert "because your group <em>Support</em> is open" in _text(as_alice, "/tools/")


def test_choosing_another_group_shows_its_tools(
    as_alice: Client, alice: User, gmail: Capability
) -> None:
    sales = GroupFactory.create(name="Sales")
    alice.groups.add(sales)
    integration = IntegrationFactory.create()
    give(integration, sales)
    CapabilityFactory.create(integration=integration, display_name="Find a customer")

    as_alice.post("/group/", {"group": sales.pk})

    text = _text(as_alice, "/tools/")
    assert "Find a customer" in text
    assert "Send mail" not in text


def _text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_the_page_has_description_and_parameters(as_alice: Client, gmail: Capability) -> None:
    text = as_alice.get("/tools/gmail__send_email/").content.decode()

    assert "Write an email to someone." in text
    assert "<code>to</code>" in text
    assert "Who gets it." in text


def test_a_foreign_tool_and_an_unknown_one_answer_alike(
    as_alice: Client, gmail: Capability
) -> None:
    CapabilityFactory.create(full_name="payroll__pay")

    foreign = as_alice.get("/tools/payroll__pay/")
    unknown = as_alice.get("/tools/payroll__nay/")

    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.content == unknown.content


def test_a_skill_is_shown_as_text_with_headings(as_alice: Client, gmail: Capability) -> None:
    CapabilityFactory.create(
        integration=gmail.integration, full_name="polite", kind="skill", content="# Polite\n\n*Yes*"
    )

    text = as_alice.get("/tools/polite/").content.decode()

    assert "<h3>Polite</h3>" in text
    assert "<em>Yes</em>" in text


def test_the_panel_gets_the_same_without_the_frame(as_alice: Client, gmail: Capability) -> None:
    response = as_alice.get("/tools/gmail__send_email/", headers={"HX-Request": "true"})

    assert "<html" not in response.content.decode()
    assert "Open full page" in response.content.decode()


def test_secrets_are_named_and_never_shown_twice(as_alice: Client, gmail: Capability) -> None:
    gmail.integration.required_secrets = ["GMAIL_TOKEN"]
    gmail.integration.transport = "http"
    gmail.integration.save()
    Capability.objects.update(required_secrets=["GMAIL_TOKEN"])

    text = as_alice.get("/tools/gmail__send_email/").content.decode()

    assert text.count("GMAIL_TOKEN") == 1


PATH = "/tools/gmail__send_email/try/"


@pytest.fixture
def charlie(db: None) -> User:
    return UserFactory.create(username="charlie")


def test_tool_runs_as_oneself_and_waits_for_approval(
    gmail: Capability, alice: User, admin: User
) -> None:
    client = session_of(alice)
    form = client.get(PATH)
    body = {"arg:/to": "bob", "run": "1", "once": str(form.context["once"])}

    begun, again = client.post(PATH, body), client.post(PATH, body)
    call = Call.objects.get()
    waits = client.get(begun["Location"]).content.decode()
    approve_call(by=admin, call=call, digest=digest_of(call), note="")
    done = client.get(begun["Location"], headers={"HX-Request": "true"}).content.decode()

    assert "Who gets it." in form.content.decode()
    assert (begun.status_code, again["Location"]) == (302, begun["Location"])
    assert (call.user, call.credential, call.arguments) == (alice, "session", {"to": "bob"})
    assert "Nothing has been run" in waits
    assert "every 2s" in waits
    assert "completed" in done
    assert "every 2s" not in done
    assert "<html" not in done


def test_wrong_arguments_are_marked_and_nothing_is_called(gmail: Capability, alice: User) -> None:
    client = session_of(alice)

    empty = client.post(PATH, {"arg:/to": "", "run": "1"})
    no_json = client.post(PATH, {"arguments": "{", "run": "1"})
    no_object = client.post(PATH, {"arguments": "[1]", "run": "1"})
    unknown = client.post(PATH, {"arguments": '{"to": 1}', "run": "1"})

    assert [page.status_code for page in (empty, no_json, no_object, unknown)] == [422] * 4
    assert 'aria-invalid="true"' in empty.content.decode()
    assert "This is not JSON" in no_json.content.decode()
    assert not Call.objects.exists()


def test_form_becomes_json_and_back(gmail: Capability, alice: User) -> None:
    client = session_of(alice)

    text = client.post(PATH, {"arg:/to": "böb", "as_json": "1"}).context["filled"]
    form = client.post(PATH, {"arguments": '{"to": "x"}', "as_form": "1"}).context["filled"]

    assert (text.as_json, json.loads(text.text)) == (True, {"to": "böb"})
    assert (form.as_json, form.form.parts[0].text) == (False, "x")
    assert not Call.objects.exists()


def test_stranger_finds_no_such_page_nor_call_of_others(
    gmail: Capability, calendar: Capability, alice: User, support: Group, charlie: User
) -> None:
    session_of(alice).post(PATH, {"arg:/to": "bob", "run": "1"})
    call = Call.objects.get()
    bob = session_of(UserFactory.create(username="bob", groups=[support]))

    assert session_of(charlie).get(PATH).status_code == 404
    assert session_of(charlie).post(PATH, {"run": "1"}).status_code == 404
    assert bob.get(f"{PATH}?call={call.pk}").context["call"] is None
    other = "/tools/calendar__list_events/try/"
    assert session_of(alice).get(f"{other}?call={call.pk}").context["call"] is None
    assert session_of(alice).get(f"{PATH}?call=x&example=²").status_code == 200


def test_admin_saves_examples_that_others_load(gmail: Capability, alice: User, admin: User) -> None:
    as_admin, as_alice = session_of(admin), session_of(alice)
    body = {"arg:/to": "bob", "save": "1"}

    nameless = as_admin.post(PATH, {**body, "title": ""})
    saved = as_admin.post(PATH, {**body, "title": "To bob"})
    as_admin.post(PATH, {**body, "arg:/to": "carol", "title": "To bob"})
    wrong = as_admin.post(PATH, {**body, "arg:/to": "", "title": "To nobody"})
    [example] = ToolExample.objects.all()
    loaded = as_alice.get(f"{PATH}?example={example.pk}")
    path = f"/tools/gmail__send_email/examples/{example.pk}/delete/"
    refused = as_alice.post(path)
    as_alice.post(PATH, {**body, "title": "Mine"})
    deleted = as_admin.post(path)

    assert [page.status_code for page in (nameless, saved, wrong)] == [422, 302, 422]
    assert loaded.context["filled"].arguments == {"to": "carol"}
    assert (refused.status_code, deleted.status_code) == (404, 302)
    assert not ToolExample.objects.exists()
    assert AuditEntry.objects.filter(action__startswith="tool_example.").count() == 3


def test_programs_to_copy_say_the_same(gmail: Capability, alice: User, tmp_path: Path) -> None:
    hostile = 'it\'s "x" `id` $(id) ${y} </script>\n\\ é'
    page = session_of(alice).post(
        PATH, {"arguments": json.dumps({"to": hostile, "n": [1.5, None, True]}), "as_form": "1"}
    )
    curl, python, typescript = (snippet.text for snippet in page.context["snippets"])
    wanted = {"name": "gmail__send_email", "arguments": page.context["filled"].arguments}

    shell = curl.replace("curl ", "printf '%s\\n' ", 1).replace("\\\n", "")
    printed = subprocess.run(  # noqa: S603 - our own text
        ["/bin/sh", "-c", shell], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    program = python.partition("arguments = ")[2].partition("\nwith ")[0]
    read = subprocess.run(  # noqa: S603 - our own text
        [sys.executable, "-c", f"import json; print(json.dumps({program}))"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    body = re.search(r"JSON\.stringify\((.*)\),\n\}\);", typescript, re.DOTALL)

    assert json.loads(printed[printed.index("{") :]) == wanted
    assert json.loads(read) == wanted["arguments"]
    assert body is not None
    assert json.loads(body[1]) == wanted


def test_statements_do_not_grow_with_examples(gmail: Capability, alice: User) -> None:
    client, counts = session_of(alice), []
    for more in (2, 15):
        for number in range(more):
            ToolExample.objects.create(
                capability=gmail, title=f"{more} {number}", arguments_json="{}"
            )
        client.get(PATH)
        with CaptureQueriesContext(connection) as statements:
            client.get(PATH)
        counts.append(len(statements))

    assert counts[0] == counts[1]
