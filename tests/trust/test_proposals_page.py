"""Proposed servers on the admins' page."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from acl.models import AuditEntry
from catalog.models import Integration, ServerProposal
from marketplace.models import Installation
from tests.factories import IntegrationFactory

pytestmark = pytest.mark.django_db
PATH = "/marketplace/proposals/"


def test_proposal_that_is_approved_is_an_installation(
    as_admin: Client, maps: ServerProposal, support: Group
) -> None:
    begun = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install", "for_group": "on"})
    again = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install"})

    installation = Installation.objects.get()
    maps.refresh_from_db()
    assert (begun.status_code, again.status_code, maps.state) == (302, 409, "approved")
    assert (installation.integration.slug, installation.integration.enabled) == ("maps", False)
    assert list(installation.groups.all()) == [support]
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    decided = ["server.propose", "server.approve"]
    assert list(actions) == [*decided, "integration.restricted", "install.start"]


def test_declined_proposal_has_a_note_and_installs_nothing(
    as_admin: Client, maps: ServerProposal
) -> None:
    as_admin.post(f"{PATH}{maps.pk}/", {"decision": "decline", "note": "We have one."})

    html = as_admin.get(f"{PATH}?show=answered").content.decode()
    assert "We have one." in html
    assert not Integration.objects.exists()


def test_name_that_is_taken_leaves_the_proposal_open(
    as_admin: Client, maps: ServerProposal
) -> None:
    IntegrationFactory.create(slug="maps")

    answer = as_admin.post(f"{PATH}{maps.pk}/", {"decision": "install"})

    maps.refresh_from_db()
    assert (answer.status_code, maps.state) == (409, "open")
