"""Listings without a server: skills with their files, extensions, channels. None of it is run."""

import pytest
from django.contrib.auth.models import User

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.models import Capability, Integration
from catalog.servers.client.launch_rules import CommandNotAllowedError
from marketplace.installs.integration_management import (
    descriptor_of_listing,
    pending_update,
    roll_back,
    start_update,
)
from marketplace.installs.requests import approve_install, start_install
from marketplace.models import Installation, Listing, ListingFile
from tests.factories import ListingFactory
from tests.installs.installs import worked

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]
State = Installation.State
HEAD = "---\nname: pdf\ndescription: Fill in forms.\n---\n"


def listing(**files: str) -> Listing:
    row = ListingFactory.create(
        slug="pdf-forms", kind="skill", title="PDF forms", details={"files": "1"}
    )
    put(row, {"SKILL.md": f"{HEAD}Open the form.\n", **files})
    return row


def put(row: Listing, files: dict[str, str]) -> None:
    row.files.all().delete()
    ListingFile.objects.bulk_create(
        ListingFile(listing=row, path=path, content=text.encode()) for path, text in files.items()
    )


@pytest.mark.parametrize("name", ["SKILL.md", "skill.md", "Skill.md"])
def test_skill_without_a_name_is_that_of_its_folder(alice: User, name: str) -> None:
    row = listing()
    put(row, {name: "---\ndescription: Fill in forms.\n---\nOpen the form.\n"})

    installation = worked(start_install(by=alice, descriptor=descriptor_of_listing(row)))

    assert installation.state == State.READY
    assert Capability.objects.get().content == "Open the form."


def test_skill_brings_its_words_and_runs_nothing(alice: User) -> None:
    row = listing(
        **{"reference/fields.md": "Field names.", "run.sh": "touch /tmp/ran", "a.bin": "\x00"}
    )
    first = worked(start_install(by=alice, descriptor=descriptor_of_listing(row)))
    skill = Capability.objects.get()
    told = (skill.identifier, skill.content, skill.annotations["files"])
    integration = Integration.objects.get()
    assert pending_update(integration) is None

    put(row, {"SKILL.md": f"{HEAD}Open the form, then fill it in.\n"})
    Listing.objects.update(details={"files": "2"})
    update = worked(start_update(by=alice, integration=integration))
    after = Capability.objects.get().content
    worked(roll_back(by=alice, integration=integration))

    assert first.state == update.state == State.READY
    assert told == (
        "skill:pdf-forms",
        "Open the form.\n\n## reference/fields.md\n\nField names.",
        ["a.bin", "reference/fields.md", "run.sh"],
    )
    assert after == "Open the form, then fill it in."
    assert Capability.objects.get().content == told[1]
    assert integration.connection == Integration.Connection.NOT_NEEDED


def test_hidden_text_waits_for_a_person(alice: User) -> None:
    row = listing(**{"notes.md": "Look\u200b here."})
    installation = worked(start_install(by=alice, descriptor=descriptor_of_listing(row)))
    waiting = (installation.state, Integration.objects.get().enabled)

    approve_install(by=alice, installation=installation)
    worked(installation)

    assert waiting == (State.NEEDS_APPROVAL, False)
    assert installation.state == State.READY
    assert "Look here." in Capability.objects.get().content


def test_channel_is_there_without_a_process_and_nothing_is_told(alice: User) -> None:
    pager = IntegrationDescriptor("pager", "channel", "Pager", description="Sends a page.")
    installed = worked(start_install(by=alice, descriptor=pager))
    empty = ListingFactory.create(slug="empty", kind="skill")
    failed = worked(start_install(by=alice, descriptor=descriptor_of_listing(empty)))
    with pytest.raises(CommandNotAllowedError):
        start_install(by=alice, descriptor=IntegrationDescriptor("x", "mcp", "Nothing to start"))

    capability = Capability.objects.get()
    assert installed.state == State.READY
    assert (capability.identifier, capability.side_effect) == ("channel:pager", "write")
    assert (failed.state, failed.reason) == (State.FAILED, "nothing_to_install")
    assert "SKILL.md" in failed.message
