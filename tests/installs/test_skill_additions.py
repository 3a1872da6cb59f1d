"""Skills by the address of their archive: listed with their files, installed, and run by nobody."""

import io
import zipfile

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from catalog.embedding.jobs import embed_pending
from catalog.formats import skill
from catalog.models import Capability
from marketplace.additions.recognition import NotRecognisedError
from marketplace.additions.requests import add
from marketplace.installs.integration_management import descriptor_of_listing
from marketplace.installs.requests import start_install
from marketplace.installs.worker import install
from marketplace.models import Addition, Listing, ListingFile
from tests.installs.installs import looked_at, served

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.usefixtures("embedder")]
HEAD = "---\nname: Fill forms\ndescription: Fill in forms.\n---\nOpen the form."
NAMELESS = "---\ndescription: Fill in forms.\n---\nOpen the form."


def packed(files: dict[str, str]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return body.getvalue()


def added(by: User, settings: Settings, body: bytes, path: str = "/forms.skill") -> Addition:
    with served({path: body}) as server:
        settings.PEGBOARD_ALLOWED_PRIVATE_HOSTS = (("127.0.0.1", server.server_port),)
        return looked_at(by, f"http://127.0.0.1:{server.server_port}{path}")


@pytest.mark.parametrize(
    ("files", "title"),
    [
        ({"SKILL.md": HEAD}, "Fill forms"),
        (
            {"pdf/SKILL.md": HEAD, "pdf/run.sh": "touch /tmp/ran", "pdf/ref/a.md": "A."},
            "Fill forms",
        ),
        ({"pdf/skill.md": NAMELESS, "pdf/ref/a.md": "A.", "LICENSE": "MIT"}, "Pdf"),
        ({"SKILL.md": NAMELESS, "a.md": "A."}, "Forms"),
    ],
    ids=["alone", "folder", "name of its folder", "name of its archive"],
)
def test_archive_is_added_and_installed_with_its_files(
    alice: User, settings: Settings, files: dict[str, str], title: str
) -> None:
    row = added(alice, settings, packed(files))
    listing = Listing.objects.get(slug=row.listing)
    stored = {file.path: bytes(file.content).decode() for file in ListingFile.objects.all()}

    installation = start_install(by=alice, descriptor=descriptor_of_listing(listing))
    for step in (install, lambda pk: embed_pending(), install):
        step(installation.pk)
    installation.refresh_from_db()

    folder = next(path for path in files if path.lower().endswith("skill.md"))[: -len("SKILL.md")]
    expected = {
        path.removeprefix(folder): text for path, text in files.items() if path.startswith(folder)
    }
    assert row.state == Addition.State.READY, row.message
    count = "one file" if len(expected) == 1 else f"{len(expected)} files"
    assert row.message.startswith(f"A skill with {count}.")
    assert (listing.kind, listing.title.casefold()) == ("skill", title.casefold())
    assert stored == expected
    assert installation.state == "ready", installation.message
    stored_skill = Capability.objects.get()
    assert stored_skill.content.startswith("Open the form.")
    assert set(stored_skill.annotations["files"]) == {
        path for path in expected if path.lower() != "skill.md"
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (packed({"readme.md": "None."}), "has 0 files SKILL.md"),
        (packed({"a/SKILL.md": HEAD, "b/SKILL.md": HEAD}), "has 2 files SKILL.md"),
        (packed({"../SKILL.md": HEAD}), "The archive"),
        (b"no archive at all", "The archive"),
    ],
    ids=["none", "two", "outside", "no archive"],
)
def test_what_is_no_skill_is_refused_with_the_reason(
    alice: User, settings: Settings, body: bytes, words: str
) -> None:
    row = added(alice, settings, body)

    assert (row.state, row.reason) == (Addition.State.FAILED, "refused")
    assert words in row.message
    assert not Listing.objects.filter(slug=row.listing or "-").exists()


def test_name_of_the_person_is_taken_and_another_things_is_not(
    alice: User, settings: Settings
) -> None:
    first = added(alice, settings, packed({"SKILL.md": HEAD}))
    again = added(alice, settings, packed({"SKILL.md": HEAD, "big.bin": "x" * 2_000_000}))

    assert (first.state, again.state) == (Addition.State.READY, Addition.State.READY)
    assert first.listing == again.listing  # the same thing is an update
    assert "Left out: 1 (big.bin " in again.message  # told, and the rest is there


@pytest.mark.parametrize("around", ["{}", "\ufeff{}\r\n", "```markdown\n{}\n```"])
@pytest.mark.parametrize("head", [HEAD, HEAD.replace("Fill in forms.", "Use when: a form comes")])
def test_pasted_skill_is_listed_and_installed(alice: User, head: str, around: str) -> None:
    [row] = add(by=alice, text=around.format(head))
    listing = Listing.objects.get(slug=row.listing)
    installation = start_install(by=alice, descriptor=descriptor_of_listing(listing))
    for step in (install, lambda pk: embed_pending(), install):
        step(installation.pk)

    assert (row.state, listing.kind, listing.title) == ("ready", "skill", "Fill Forms")
    assert Capability.objects.get().content == "Open the form."


def test_pasted_skill_gets_the_name_that_the_person_gives(alice: User) -> None:
    [row] = add(by=alice, text=HEAD, name="Our forms")

    assert Listing.objects.get(slug=row.listing).title == "Our forms"
    with pytest.raises(NotRecognisedError):
        add(by=alice, text="---\nname: x\n---\nNothing says what it is for.")
    agent = "---\ndescription: An agent.\nmcpServers:\n  a:\n    command: x\n---\nHelp."
    assert not skill.is_skill_text(agent)  # its servers are what is added
