"""A pass over the watched folders: what is stored, takes precedence, or stays."""

import json
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from acl.models import AuditEntry, Space
from acl.rights.caller_lookup import Caller
from catalog.models import Capability, Edge, Integration, ManifestFile, Rule
from catalog.registration.manifest_reload import GONE
from tests.catalog.builders import store, tool
from tests.factories import GroupFactory, UserFactory, give
from tests.formats.folders import SHARED, needs_shared
from tests.registration.folders import LAMP, Folders, manifest, one, provider, reasons

pytestmark = pytest.mark.django_db
SAMPLES = SHARED / "samples" / "capability-yaml"


@pytest.fixture
def alice() -> Caller:
    """alice, whose group is allow-listed."""
    support = GroupFactory.create(name="support")
    return Caller(UserFactory.create(username="alice", groups=[support]).pk, support.pk)


def usable(caller: Caller) -> set[str]:
    return set(Capability.objects.usable_by(caller).values_list("full_name", flat=True))


def test_manifest_becomes_an_integration_with_its_one_capability(folders: Folders) -> None:
    path = folders.put(LAMP)

    report = folders.read()

    assert (report.registered.created, report.defects) == (1, [])
    assert (one().identifier, one().integration.kind) == ("tool:lamp", "manifest")
    assert (provider(), one().source_ref["file"]) == (path, str(path))


def test_nobody_may_use_it_until_an_admin_grants_it(folders: Folders, alice: Caller) -> None:
    folders.put(LAMP)

    folders.read()
    before = usable(alice)
    give(one().integration, Group.objects.get(pk=alice.group_id))

    assert before == set()
    assert usable(alice) == {"lamp"}


def test_reading_again_writes_nothing(folders: Folders) -> None:
    folders.put(LAMP)
    folders.put("name: [", "broken")
    folders.read()
    entries = AuditEntry.objects.count()

    report = folders.read()

    assert (report.registered.unchanged, report.changed_anything) == (1, False)
    assert len(report.defects) == 1
    assert AuditEntry.objects.count() == entries


@pytest.mark.django_db(transaction=True)
def test_only_what_changed_is_embedded_again(folders: Folders, sent: list[list[int]]) -> None:
    folders.put(LAMP)
    folders.put(manifest("door"), "door")
    folders.read()
    sent.clear()

    folders.put(manifest("door", "Opens the door."), "door")
    report = folders.read()

    assert (report.registered.changed, report.registered.unchanged) == (1, 1)
    assert sent == [[one("door").pk]]


@pytest.mark.django_db(transaction=True)
def test_many_manifests_are_one_registration(folders: Folders, sent: list[list[int]]) -> None:
    for number in range(60):
        folders.put(manifest(f"lamp-{number}"), f"lamp-{number}")

    folders.read()

    entry = AuditEntry.objects.get(action="catalog.register")
    assert (entry.target, entry.details["created"]) == ("manifests", 60)
    assert [len(ids) for ids in sent] == [60]


def test_deleted_manifest_takes_its_capability_out(folders: Folders, alice: Caller) -> None:
    folders.put(LAMP)
    folders.read()
    give(one().integration, Group.objects.get(pk=alice.group_id))

    folders.remove()
    report = folders.read()

    assert (report.gone, usable(alice)) == (["lamp"], set())
    assert (one().available, one().unavailable_reason) == (False, GONE)
    assert AuditEntry.objects.get(action="capability.gone").target == "lamp"
    assert not ManifestFile.objects.exists()


def test_what_admins_decided_is_still_there_when_it_comes_back(
    folders: Folders, alice: Caller
) -> None:
    folders.put(LAMP)
    folders.read()
    group = Group.objects.get(pk=alice.group_id)
    give(one().integration, group)
    root = Space.objects.get(group=group, parent=None)
    Rule.objects.create(space=root, effect=Rule.Effect.DENY, capability=one())
    Capability.objects.update(ai_access="propose")

    folders.remove()
    folders.read()
    folders.put(LAMP)
    report = folders.read()

    assert (report.registered.changed, one().available, one().ai_access) == (1, True, "propose")
    assert usable(alice) == set()
    assert Rule.objects.filter(capability=one()).exists()


def test_prune_removes_what_is_gone_for_good(folders: Folders) -> None:
    folders.put(LAMP)
    folders.put(manifest("door"), "door")
    store(tool("send_email"))
    folders.read()
    folders.remove()
    folders.read()

    report = folders.read(prune=True)

    assert report.removed == ["lamp"]
    names = Capability.objects.values_list("full_name", flat=True)
    assert set(names) == {"door", "gmail__send_email"}
    assert AuditEntry.objects.get(action="capability.remove").target == "lamp"


def test_first_folder_wins_and_the_other_is_reported(folders: Folders) -> None:
    first = folders.put(manifest("lamp", "Of the first."))
    second = folders.put(manifest("lamp", "Of the second."), second=True)

    report = folders.read()

    assert (one().description, provider()) == ("Of the first.", first)
    (defect,) = report.defects
    assert (defect.file, defect.field) == (str(second), "id")
    assert defect.reason == f"tool:lamp is already provided by {first}, which takes precedence"


def test_repetition_word_for_word_is_reported_too(folders: Folders) -> None:
    folders.put(LAMP)
    folders.put(LAMP, second=True)

    assert len(folders.read().defects) == 1


@pytest.mark.parametrize("name", ["lamp", "light"])
def test_other_takes_over_when_the_first_is_gone(folders: Folders, name: str) -> None:
    folders.put(manifest("lamp", "Of the first.", more="id: tool:x\n"))
    second = folders.put(manifest(name, "Of the second.", more="id: tool:x\n"), second=True)
    folders.read()
    before = one().pk

    folders.remove()
    report = folders.read()

    assert (one(name).description, one(name).available) == ("Of the second.", True)
    assert (one(name).pk, one(name).integration.slug) == (before, name)
    assert (provider(name), report.defects, report.gone) == (second, [], [])
    assert one(name).source_ref["file"] == str(second)
    assert AuditEntry.objects.get(action="manifest.takeover").details["to"] == str(second)


def test_first_takes_back_when_it_returns(folders: Folders) -> None:
    folders.put(manifest("lamp", "Of the second."), second=True)
    folders.read()

    first = folders.put(manifest("lamp", "Of the first."))
    folders.read()

    assert (one().description, provider()) == ("Of the first.", first)


def test_folder_that_is_watched_no_longer_takes_its_capabilities_out(folders: Folders) -> None:
    folders.put(LAMP, second=True)
    folders.read()

    report = folders.read(only_first=True)

    assert (report.gone, one().available) == (["lamp"], False)


def test_broken_manifest_keeps_its_last_good_state(folders: Folders) -> None:
    path = folders.put(LAMP)
    folders.read()

    folders.put("name: lamp\nkind: tool\ndescription: >\nSwitches")
    report = folders.read()

    assert (one().available, provider()) == (True, path)
    assert one().description == "Switches a lamp on and off."
    assert report.defects[0].reason.startswith("is not valid YAML")
    assert reasons(report)[1:] == ["capability: lamp is kept as it was when it could last be read"]


def test_broken_manifest_keeps_its_place_before_the_second_folder(folders: Folders) -> None:
    first = folders.put(manifest("lamp", "Of the first."))
    folders.put(manifest("lamp", "Of the second."), second=True)
    folders.read()

    folders.put("")
    folders.read()

    assert (one().description, provider()) == ("Of the first.", first)


def test_instructions_that_cannot_be_read_keep_the_last_good_ones(folders: Folders) -> None:
    folders.put(manifest("lamp", more="skillContent: ./how.md\n"))
    how = folders.put("Turn it on first.", file="how.md")
    folders.read()

    how.write_bytes(b"\xff\xfe\x00")
    report = folders.read()

    assert (one().content, report.kept) == ("Turn it on first.", ["lamp"])
    assert reasons(report)[0].startswith("skillContent: is not UTF-8")


def test_broken_schema_beside_it_keeps_the_last_good_one(folders: Folders) -> None:
    folders.put(LAMP)
    folders.put('{"type": "object", "properties": {"on": {"type": "boolean"}}}', file="schema.json")
    folders.read()

    folders.put('{"type": ', file="schema.json")
    report = folders.read()

    assert (one().input_schema or {})["properties"] == {"on": {"type": "boolean"}}
    assert reasons(report)[0].startswith("schema.json: is not valid JSON")


def test_manifest_that_was_never_good_provides_nothing(folders: Folders) -> None:
    path = folders.put("name: lamp\nkind: gadget\ndescription: x\n")

    report = folders.read()

    assert not Capability.objects.exists()
    row = ManifestFile.objects.get()
    assert (row.path, row.capability) == (str(path), None)
    assert row.problems == reasons(report)[0]
    assert row.problems.startswith("kind: must be one of tool, skill")


def test_mended_manifest_has_no_problems_left(folders: Folders) -> None:
    folders.put("name: [")
    folders.read()

    folders.put(LAMP)
    report = folders.read()

    assert (report.defects, ManifestFile.objects.get().problems) == ([], "")


def test_renamed_capability_leaves_its_old_name(folders: Folders) -> None:
    folders.put(LAMP)
    folders.read()

    folders.put(manifest("torch"))
    report = folders.read()

    assert (report.gone, one().available, one("torch").available) == (["lamp"], False, True)


def test_other_kind_is_the_same_capability_with_the_rules_about_it(folders: Folders) -> None:
    folders.put(LAMP)
    folders.read()
    before = one().pk

    folders.put(manifest("lamp", kind="skill"))
    report = folders.read()

    assert (report.defects, one().pk, one().identifier) == ([], before, "skill:lamp")


def test_moved_manifest_is_the_same_capability(folders: Folders) -> None:
    folders.put(LAMP)
    folders.read()
    before = one().pk

    folders.remove()
    moved = folders.put(LAMP, "other")
    report = folders.read()

    assert (one().pk, provider(), report.gone) == (before, moved, [])


def test_name_of_another_integration_is_left_to_it_and_reported(folders: Folders) -> None:
    store(tool("send_email"))
    folders.put(manifest("gmail"), "gmail")
    folders.put(LAMP)

    report = folders.read()

    assert reasons(report) == [
        "name: the slug gmail belongs to a mcp from test; "
        "a manifest from the watched folders is left out, with its capabilities"
    ]
    assert one().available
    assert Integration.objects.get(slug="gmail").kind == "mcp"


def test_id_of_another_integration_is_left_to_it(folders: Folders) -> None:
    store(tool("send_email"))
    folders.put(LAMP + "id: tool:gmail__send_email\n")

    report = folders.read()

    assert "is taken by another integration" in reasons(report)[0]
    assert one("gmail__send_email").integration.slug == "gmail"


def test_declared_edges_are_kept(folders: Folders) -> None:
    folders.put(LAMP + "edges: [{target: 'tool:door', type: composed-with, weight: 0.6}]\n")

    folders.read()

    assert one().declared_edges == [{"target": "tool:door", "type": "COMPOSED_WITH", "weight": 0.6}]


def test_declared_edges_are_in_the_graph_and_leave_it_with_the_line(folders: Folders) -> None:
    folders.put(LAMP + "edges: [{target: 'tool:door', type: COMPOSED_WITH, weight: 0.6}]\n")
    folders.put(manifest("door"), "door")
    folders.read()
    declared = Edge.objects.filter(origin=Edge.Origin.MANIFEST)
    edge = declared.select_related("source", "target").get()

    folders.put(LAMP)
    folders.read()

    assert {edge.source.full_name, edge.target.full_name} == {"lamp", "door"}
    assert (edge.kind, edge.weight, declared.count()) == ("COMPOSED_WITH", 0.6, 0)


@needs_shared
def test_samples_of_both_documents_load_and_the_malformed_one_is_reported(tmp_path: Path) -> None:
    report = Folders(SAMPLES, tmp_path / "none").read()

    search, own = one("my-custom-search"), one("my-custom-tool")
    assert (search.declared_edges[0]["target"], search.input_schema is None) == (
        "tool:web-search",
        False,
    )
    assert search.content.startswith("# My Custom Search Skill")
    assert (own.required_secrets, own.side_effect) == (["INTERNAL_API_KEY"], "read")
    assert {(Path(defect.file).parent.name, defect.field) for defect in report.defects} == {
        ("agentos-guide-malformed", "file"),
        ("agentos-my-custom-tool", "skillContent"),
    }
    assert all(defect.reason for defect in report.defects)


def test_admin_sees_each_manifest_and_its_problems(folders: Folders, admin_client: Client) -> None:
    folders.put(LAMP)
    folders.put("name: [", "broken")
    folders.read()

    every = admin_client.get("/admin/catalog/manifestfile/").content.decode()
    faulty = admin_client.get("/admin/catalog/manifestfile/", {"problems__isempty": "0"})

    assert f"{folders.first}/lamp/CAPABILITY.yaml" in every
    assert "is not valid YAML" in every
    assert f"{folders.first}/lamp/CAPABILITY.yaml" not in faulty.content.decode()


BAD = "name: door\nkind: tool\n"


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Folders:
    """The folders of a person whose home and working folder are the test's own."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(here)
    settings.PEGBOARD_CAPABILITY_DIRS = ()
    return Folders(tmp_path / ".pegboard" / "capabilities", here / "capabilities")


def test_single_pass_reports_each_defect_and_loads_the_rest(
    own_folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    own_folders.put(LAMP)
    bad = own_folders.put(BAD, "door")

    call_command("load_capabilities")

    told = capsys.readouterr().err
    assert f"{bad}: description: is required" in told
    assert "1 new" in told
    assert Capability.objects.filter(full_name="lamp", available=True).exists()


def test_single_pass_answers_scripts(
    own_folders: Folders, capsys: pytest.CaptureFixture[str]
) -> None:
    own_folders.put(BAD, "door")

    with pytest.raises(SystemExit) as ended:
        call_command("load_capabilities", "--json")

    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert [defect["field"] for defect in told["defects"]] == ["description"]
    assert str(own_folders.first) in told["folders"]
