import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command

from catalog.embedding.jobs import pending_embeddings
from catalog.models import Capability, Embedding, LexicalVector
from catalog.registration._derived_columns import compute_text_hash
from marketplace.listings.store import built_in_source
from marketplace.models import Listing
from tests.catalog.builders import AbsentEmbedder, WordyEmbedder, store, tool
from tests.catalog.conftest import use

pytestmark = pytest.mark.django_db
SKILL = "---\nname: minutes\ndescription: Writes the minutes of a meeting.\n---\nListen well.\n"
SERVER = {
    "name": "io.example/notes",
    "description": "Keeps notes.",
    "version": "1.0.0",
    "packages": [
        {
            "registryType": "pypi",
            "identifier": "notes",
            "version": "1.0.0",
            "transport": {"type": "stdio"},
        }
    ],
}


def run(command: str, *arguments: str) -> dict[str, Any]:
    """Run the command with --json; return its output."""
    output = StringIO()
    call_command(command, *arguments, "--json", stdout=output)
    report: dict[str, Any] = json.loads(output.getvalue())
    return report


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a skill, an installable server, and a broken file."""
    (tmp_path / "minutes").mkdir()
    (tmp_path / "minutes" / "SKILL.md").write_text(SKILL)
    (tmp_path / "server.json").write_text(json.dumps(SERVER))
    (tmp_path / "tools.json").write_text("{")
    return tmp_path


def test_import_loads_what_it_can_and_names_what_it_cannot(folder: Path) -> None:
    report = run("import_catalog", str(folder))

    assert report["loaded"] == 2
    assert Capability.objects.get().kind == "skill"
    assert Listing.objects.get().description == "Keeps notes."
    (defect,) = report["defects"]
    assert (defect["file"], set(defect)) == ("tools.json", {"file", "line", "field", "reason"})


def test_import_of_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text("{")

    with pytest.raises(SystemExit) as ended:
        call_command("import_catalog", str(tmp_path), "--json", stdout=StringIO())

    assert ended.value.code == 1


def test_import_of_a_path_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no file or folder"):
        call_command("import_catalog", str(tmp_path / "nowhere"))


def test_import_for_a_group_grants_it(folder: Path) -> None:
    report = run("import_catalog", str(folder), "--group", "support")

    group = Group.objects.get(name="support")
    assert report["capabilities"]["granted"] == 1
    assert group.integrationgrouppermission_set.count() == 1


def test_import_without_json_is_for_people(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_catalog", str(folder))

    said = capsys.readouterr().err
    assert "tools.json" in said
    assert "1 new" in said


def test_starter_collection_loads_once() -> None:
    first = run("load_starter", "--group", "everyone")
    second = run("load_starter", "--group", "everyone")

    assert first["capabilities"]["created"] == second["capabilities"]["unchanged"] > 50
    assert first["listings"]["created"] == second["listings"]["unchanged"] > 10
    assert first["capabilities"]["granted"] > 0 == second["capabilities"]["granted"]
    assert first["capabilities"]["defects"] == first["listings"]["defects"] == []


def test_listing_of_another_source_stays_and_both_can_be_chosen(folder: Path) -> None:
    run("import_catalog", str(folder))
    Listing.objects.update(source=built_in_source("starter"), title="Ours")

    report = run("import_catalog", str(folder))

    assert {one.slug: one.title for one in Listing.objects.all()} == {
        "io-example-notes": "Ours",
        "io-example-notes-import": "Notes",
    }
    assert "offered by Starter collection" in report["defects"][-1]["reason"]


def test_changed_listing_is_written_anew(folder: Path) -> None:
    run("import_catalog", str(folder))
    (folder / "server.json").write_text(json.dumps(SERVER | {"description": "Keeps all notes."}))

    report = run("import_catalog", str(folder))

    assert report["listings"]["changed"] == 1
    assert Listing.objects.get().description == "Keeps all notes."


def test_embed_pending_embeds_all_and_says_how_many() -> None:
    store(*(tool(f"tool_{number}") for number in range(40)))

    report = run("embed_pending")

    assert report["embedded"] == 40
    assert [(one["name"], one["pending"]) for one in report["models"]] == [("wordy", 0)]


def test_embed_pending_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    store(tool("send_email"))
    use(AbsentEmbedder(), monkeypatch)

    with pytest.raises(CommandError, match="nobody answers"):
        run("embed_pending")

    assert pending_embeddings().count() == 1


def test_rebuild_mends_what_follows_from_the_definitions(embedder: WordyEmbedder) -> None:
    store(tool("send_email"))
    run("embed_pending")
    LexicalVector.objects.all().delete()
    Capability.objects.update(tokens=0, description="Changed by hand.")

    report = run("rebuild_catalog")

    assert report == {"capabilities": 1, "pending": 1}
    assert Capability.objects.get().tokens > 0
    assert LexicalVector.objects.count() == 1


def test_rebuild_embeds_nothing_again_unless_forced() -> None:
    store(tool("send_email"))
    run("embed_pending")

    assert run("rebuild_catalog")["pending"] == 0
    assert run("rebuild_catalog", "--force")["pending"] == 1
    assert Embedding.objects.get().vector is not None


def test_rebuild_gives_what_failed_another_chance() -> None:
    store(tool("send_email"))
    Embedding.objects.update(attempts=5, failure="It was so.")

    assert run("rebuild_catalog")["pending"] == 1


def test_listing_under_another_name_is_imported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("import_catalog", str(folder))
    Listing.objects.update(source=built_in_source("starter"))

    call_command("import_catalog", str(folder))

    said = " ".join(capsys.readouterr().err.split())
    assert "imported server.json: name: io-example-notes is offered by" in said
    assert "not loaded tools.json" in said
    assert "1 defects;" in said


def test_order_of_keys_changes_no_embedded_text(tmp_path: Path) -> None:
    properties = {name: {"type": "string"} for name in ("subject", "to", "cc", "body")}
    hashes = []
    for order in (properties, dict(reversed(properties.items()))):
        schema = {"type": "object", "properties": order}
        tools = [{"name": "send_mail", "description": "Sends a mail.", "inputSchema": schema}]
        (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
        run("import_catalog", str(tmp_path), "--integration", "mail")
        assert compute_text_hash(Capability.objects.get()) == Embedding.objects.get().text_hash
        hashes.append(Embedding.objects.get().text_hash)

    assert hashes[0] == hashes[1]
