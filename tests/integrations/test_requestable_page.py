"""An integration's mark for requests by everyone, on its page and in the API."""

from typing import Any

from django.test import Client

from acl.models import AuditEntry
from catalog.models import Integration

ADDRESS = "/api/v1/integrations/mail/requestable"
JSON: Any = {"content_type": "application/json"}


def test_admin_marks_it_on_its_page_and_by_the_api(mail: Integration, as_admin: Client) -> None:
    as_admin.post("/integrations/mail/requestable/", {"requestable": "on"})
    by_page = as_admin.get(ADDRESS).json()
    shown = as_admin.get("/integrations/mail/").content.decode()
    wrong = as_admin.put(ADDRESS, {"requestable": "maybe"}, **JSON)
    answers = [as_admin.put(ADDRESS, {"requestable": False}, **JSON).json() for _ in range(2)]

    mail.refresh_from_db()
    entries = AuditEntry.objects.filter(target="mail", action__contains="requestable")
    assert by_page == {"requestable": True}
    assert "Hide names from people without access" in shown
    assert wrong.status_code == 400
    assert [error["field"] for error in wrong.json()["errors"]] == ["requestable"]
    assert (answers, mail.requestable) == ([{"requestable": False}] * 2, False)
    assert sorted(entry.action for entry in entries) == [
        "integration.requestable",
        "integration.unrequestable",
    ]


def test_its_link_fills_in_the_request(as_alice: Client) -> None:
    page = as_alice.get("/tools/requests/?wish=pizzeria__order_pizza").content.decode()

    assert ">pizzeria__order_pizza</textarea>" in page
