"""Trying a tool on its page: the form, the call, its result, examples, and programs to copy."""

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

from acl.models import AuditEntry
from catalog.models import Capability
from discovery.calls.approvals import approve_call
from discovery.calls.arguments import digest_of
from discovery.models import Call, ToolExample
from tests.factories import UserFactory

PATH = "/tools/gmail__send_email/try/"


@pytest.fixture
def charlie(db: None) -> User:
    return UserFactory.create(username="charlie")


def session_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


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
