"""Skills, Docker's catalogue and plugin marketplaces, as archives and folders, and stored."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.files import RefusedError
from catalog.models import Integration
from marketplace.listings.store import built_in_source, store_listings
from marketplace.models import Listing, ListingFile, ListingVersion, Source
from marketplace.offers import offer as location
from marketplace.offers.kinds import plugins
from marketplace.offers.kinds.starter import starter_listings
from tests.databases import as_superuser
from tests.sources.conftest import Read
from tests.sources.places import SAMPLES, Place, tar_of, tar_of_folder

pytestmark = pytest.mark.django_db

SKILL = "---\nname: {0}\ndescription: Writes {0}.\nlicense: MIT\ntags: [paper]\n---\nListen well.\n"
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the folder shared is not beside the project"
)


@needs_samples
def test_skills_of_an_archive_keep_all_files_of_their_folders(server: Place, read: Read) -> None:
    server.documents["/skills.tar.gz"] = tar_of_folder(
        SAMPLES / "agent-skills-full", below="skills-9d2f1ae"
    )

    source = read("skills", server.at("/skills.tar.gz"))
    again = read("skills", server.at("/skills.tar.gz"))

    assert (source.report["created"], source.report["defects"]) == (2, [])
    assert server.statuses == [200, 304]
    assert "Nothing has changed" in again.message
    builder = Listing.objects.get(key="mcp-builder")
    kept = {file.path: bytes(file.content) for file in builder.files.all()}
    real = SAMPLES / "agent-skills-full" / "mcp-builder"
    assert kept == {
        path.relative_to(real).as_posix(): path.read_bytes()
        for path in real.rglob("*")
        if path.is_file()
    }
    assert len(kept) > 3
    assert builder.readme.startswith("# MCP Server Development")
    assert builder.kind == "skill"


def test_changed_file_of_a_skill_is_noticed_and_too_much_is_told(folder: Path, read: Read) -> None:
    (folder / "minutes" / "notes").mkdir(parents=True)
    (folder / "minutes" / "SKILL.md").write_text(SKILL.format("minutes"))
    (folder / "minutes" / "notes" / "how.md").write_text("Slowly.")
    (folder / "minutes" / "escape").symlink_to("/etc/passwd")
    (folder / "huge").mkdir()
    (folder / "huge" / "SKILL.md").write_text(SKILL.format("huge"))
    for number in range(201):
        (folder / "huge" / f"{number}.txt").write_text("x")

    first = read("skills", folder)
    (folder / "minutes" / "notes" / "how.md").write_text("Quickly.")
    second = read("skills", folder)

    told = {(one["file"], one["field"]) for one in first.report["defects"]}
    assert told == {("huge", "files"), ("minutes/escape", "file")}
    (minutes,) = Listing.objects.all()
    assert (minutes.licence, minutes.tags, minutes.category) == ("MIT", ["paper"], minutes.category)
    assert second.report["changed"] == 1
    assert [(one.path, bytes(one.content)[:7]) for one in minutes.files.all()] == [
        ("SKILL.md", b"---\nnam"),
        ("notes/how.md", b"Quickly"),
    ]


@needs_samples
@pytest.mark.usefixtures("folder")
def test_docker_catalogue_says_what_a_server_needs(read: Read) -> None:
    read("docker", SAMPLES / "docker-mcp-registry")

    papers = Listing.objects.get(key="arxiv-mcp-server")
    remote = Listing.objects.get(key="wayfound")
    with_tools = [one for one in Listing.objects.all() if one.tools]
    assert (papers.category, papers.tags[:2]) == ("search", ["arxiv", "research"])
    assert papers.repository == "https://github.com/jasonleinart/arxiv-mcp-server"
    assert papers.needs["program"] == "docker"
    assert [one["name"] for one in papers.needs["variables"]] == ["ARXIV_STORAGE_PATH"]
    assert remote.needs["hosts"] == ["app.wayfound.ai"]
    assert remote.details["headers"] == {"Authorization": "Bearer ${MCP_API_KEY}"}
    assert remote.versions.get().descriptor["source_ref"]["headers"] == remote.details["headers"]
    assert sum(len(one.tools) for one in with_tools) == 320
    assert with_tools[0].tools[0].keys() == {"name", "title", "description", "side_effect"}


def test_starter_collection_is_a_source_like_any_other(read: Read) -> None:
    loaded = store_listings(starter_listings(), source="starter")

    source = read("starter", "")

    assert source == built_in_source("starter")
    assert source.report["unchanged"] == loaded.created == len(starter_listings())
    assert source.report["defects"] == []


def marketplace(folder: Path, entries: Sequence[object], **more: object) -> None:
    (folder / ".claude-plugin").mkdir(exist_ok=True)
    value = {"name": "shop", "owner": {"name": "Harbour"}, "plugins": entries, **more}
    (folder / ".claude-plugin" / "marketplace.json").write_text(json.dumps(value))


def plugin(name: str, source: object, **more: object) -> dict[str, object]:
    return {"name": name, "description": f"The {name}.", "source": source, **more}


def test_plugins_are_listed_with_their_servers_and_skills(folder: Path, read: Read) -> None:
    own = folder / "plugins" / "desk"
    (own / "skills" / "minutes").mkdir(parents=True)
    (own / "commands").mkdir()
    (own / "skills" / "minutes" / "SKILL.md").write_text(SKILL.format("minutes"))
    servers = {
        "clock": {"type": "http", "url": "https://clock.example/mcp"},
        "local": {"command": "node", "args": ["${CLAUDE_PLUGIN_ROOT}/x.js"]},
    }
    (own / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (own / "README.md").write_text("# Desk\n")
    entries = [
        plugin("desk", "./plugins/desk", category="office", version="1.1", license="MIT"),
        plugin("out", "../../../.."),
        plugin("lost", "./plugins/lost"),
    ]
    marketplace(folder, entries)

    source = read("plugins", folder)

    listed = {one.key: one for one in Listing.objects.all()}
    assert set(listed) == {"desk", "desk/clock", "desk/minutes", "out", "lost"}
    desk, clock = listed["desk"], listed["desk/clock"]
    assert (desk.kind, desk.readme, desk.category) == ("extension", "# Desk\n", "office")
    assert (desk.details["parts"], desk.details["holds"]) == (
        ["desk/clock", "desk/minutes"],
        ["commands"],
    )
    assert (clock.kind, clock.version, clock.licence) == ("mcp", "1.1", "MIT")
    assert (clock.category, clock.publisher, clock.details["plugin"]) == (
        "office",
        "Harbour",
        "desk",
    )
    assert ListingFile.objects.get().listing == listed["desk/minutes"]
    assert [(one["file"], one["reason"][:22]) for one in source.report["defects"]] == [
        ("desk", "local starts a program"),
        ("out", "leads out of the folde"),
        ("lost", "does not exist"),
    ]


def test_renamed_plugin_keeps_its_address_and_what_is_installed(folder: Path, read: Read) -> None:
    marketplace(folder, [plugin("desk", "."), plugin("lamp", "."), plugin("old", ".")])
    read("plugins", folder)
    Integration.objects.create(slug="desk", kind="extension", title="Desk", listing="desk")
    Integration.objects.create(slug="old", kind="extension", title="Old", listing="old")
    renames = {"desk": "bureau", "bureau": "table", "lamp": "lamp", "x": "y", "y": "x", "n": 7}
    marketplace(folder, [plugin("table", "."), plugin("lamp", ".")], renames=renames)

    read("plugins", folder)

    found = {
        one.slug: (one.key, one.title, one.vanished_at is None) for one in Listing.objects.all()
    }
    assert found == {
        "desk": ("table", "Table", True),
        "lamp": ("lamp", "Lamp", True),
        "old": ("old", "Old", False),
    }


def test_repositories_of_plugins_are_fetched_a_few_at_a_time_and_commits_once(
    server: Place, folder: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "MOST_ARCHIVES", 2)
    skill = {"r-1/deep/skills/minutes/SKILL.md": SKILL.format("minutes")}
    server.documents["/a.tar.gz"] = tar_of(skill)
    server.documents["/b.tar.gz"] = tar_of({"r-1/SKILL.md": SKILL.format("letters")})
    entries = [
        plugin("a", {"source": "git-subdir", "url": server.at("/a.tar.gz"), "path": "./deep",
                     "ref": "v1", "sha": "1" * 40}),
        plugin("b", {"source": "url", "url": server.at("/b.tar.gz"), "sha": "2" * 40}),
        plugin("c", {"source": "url", "url": server.at("/c.tar.gz"), "sha": "3" * 40}),
        plugin("d", {"source": "github", "repo": "../evil"}),
        plugin("e", {"source": "git-subdir", "url": server.at("/a.tar.gz"), "path": "../../x"}),
    ]  # fmt: skip
    marketplace(folder, entries)

    reports = [read("plugins", folder).report["defects"] for _ in range(3)]

    keys = {"a", "a/minutes", "b", "b/letters", "c", "d", "e"}
    assert set(Listing.objects.values_list("key", flat=True)) == keys
    assert server.hits == ["/a.tar.gz", "/b.tar.gz", "/c.tar.gz", "/c.tar.gz"]
    assert [one["file"] for one in reports[0] if "read later" in one["reason"]] == ["c", "d", "e"]
    told = {
        one["file"]: one["reason"]
        for report in reports
        for one in report
        if "read later" not in one["reason"]
    }
    assert told["c"] == "Nothing was found at this address."
    assert told["d"] == location.NO_ARCHIVE
    assert told["e"] == "leads out of the repository"


@pytest.mark.parametrize(
    ("address", "ref", "archive"),
    [
        ("https://github.com/o/r", "", "https://codeload.github.com/o/r/tar.gz/HEAD"),
        ("https://github.com/o/r.git", "abc", "https://codeload.github.com/o/r/tar.gz/abc"),
        ("https://github.com/o/r/tree/v2/a/b", "", "https://codeload.github.com/o/r/tar.gz/v2"),
        ("https://gitlab.com/a/b/c", "", "https://gitlab.com/a/b/c/-/archive/HEAD/archive.tar.gz"),
        ("https://x.example/y.zip", "v1", "https://x.example/y.zip"),
    ],
)
def test_repository_is_an_archive(address: str, ref: str, archive: str) -> None:
    assert location.archive_url(address, ref=ref) == archive


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/o", "https://github.com/../r", "https://github.com/o/..", "https:///o/r",
        "https://github.com/o%2Fx/r", "https://example.com/o/r", "https://github.com@x.example/o/r",
    ],
)  # fmt: skip
def test_what_is_no_repository_has_no_archive(address: str) -> None:
    with pytest.raises(RefusedError):
        location.archive_url(address)


@pytest.mark.parametrize(
    "location", ["/", "/etc", "/etc/passwd", "{0}/../secret", "{0}/link", "{0}/none", "{0}x"]
)
def test_folder_that_was_not_opened_is_not_read(
    location: str, folder: Path, read: Read, settings: Settings
) -> None:
    (folder.parent / "secret").mkdir()
    (folder.parent / "secret" / "SKILL.md").write_text(SKILL.format("canary"))
    (folder / "link").symlink_to(folder.parent / "secret")

    source = read("skills", location.format(folder))

    assert (source.state, source.reason) == ("failed", "location_not_allowed")
    assert Source.objects.get().report["defects"] == []
    assert not Listing.objects.exists()


def test_skills_without_a_name_in_lower_case_and_in_archives_are_offered(
    folder: Path, read: Read
) -> None:
    text = "---\ndescription: Plans a day.\n---\nDo it.\n"
    (folder / "planner").mkdir()
    (folder / "planner" / "skill.md").write_text(text)
    (folder / "planner" / "more.md").write_text("More.")
    with zipfile.ZipFile(folder / "packed.skill", "w") as packed:
        packed.writestr("inner/SKILL.md", text)
        packed.writestr("inner/scripts/run.py", "1")

    source = read("skills", folder)

    files = {row.slug: {file.path for file in row.files.all()} for row in Listing.objects.all()}
    assert files == {
        "planner": {"skill.md", "more.md"},
        "inner": {"SKILL.md", "scripts/run.py"},
    }
    assert {defect["field"] for defect in source.report["defects"]} == {"name"}


LISTINGS = 200
# As if statistics had been taken before the first rows were committed.
EMPTY = """
UPDATE pg_class SET reltuples = 0, relpages = 100 WHERE relname LIKE 'marketplace_listing%'
"""
ROWS_READ = """
SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
FROM pg_stat_xact_user_tables WHERE relname LIKE 'marketplace_listing%'
"""


def test_tables_that_postgres_takes_for_empty_are_not_compared_row_by_row() -> None:
    names = [f"server-{number}" for number in range(LISTINGS)]
    offered = [IntegrationDescriptor(name, "mcp", name, version="2") for name in names]
    with connection.cursor() as cursor:
        as_superuser(EMPTY)
        store_listings(offered, source="import")
        cursor.execute(ROWS_READ)
        (first,) = cursor.fetchone()
        store_listings(offered, source="import")
        cursor.execute(ROWS_READ)
        (both,) = cursor.fetchone()

    assert ListingVersion.objects.filter(is_latest=True).count() == LISTINGS
    assert max(first, both - first) < 30 * LISTINGS
