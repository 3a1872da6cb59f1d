"""Skills as files at `/mcp` (SEP-2640): listed and read per right, with digests that hold."""

import json
import re
from hashlib import sha256
from random import Random
from typing import Any

import pytest
import yaml

from catalog.models import Capability, Integration
from discovery.mcp.server import runnable_tools
from discovery.models import Call
from tests.access.people import People
from tests.access.ways import hide_something
from tests.factories import CapabilityFactory, IntegrationFactory, give, take_away
from tests.mcp.asking import OLDEST, ask, ask_modern, error
from tests.mcp.conftest import key_of

SKILLS = "io.modelcontextprotocol/skills"
NAMES = ("pdf_forms", "Deploy-Site", "teams__refunds", "x" * 64)
HOSTILE = ('Says "no": [x] - {a}', "Zeile eins\nname: other\n---\n# not the end", "Ümläute 天气")


@pytest.fixture
def skills(people: People) -> list[Capability]:
    """Return skills that alice may use, with descriptions that are no plain YAML."""
    rows = []
    for at, name in enumerate(NAMES):
        pack = IntegrationFactory.create(
            slug=f"pack-{at}", kind=Integration.Kind.SKILL, transport="", endpoint=""
        )
        row = CapabilityFactory.create(
            integration=pack,
            full_name=name,
            action=name,
            kind="skill",
            description=HOSTILE[at % len(HOSTILE)],
            content=f"# {name}\n\nStep {at}: ---\n",
            annotations={"license": "MIT", "metadata": {"version": "1"}, "allowedTools": "Bash"},
            input_schema=None,
            side_effect="read",
        )
        give(pack, people.support)
        rows.append(row)
    return rows


def listed(key: str) -> list[dict[str, Any]]:
    """Return all skills, page by page."""
    entries: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        result = ask_modern(key, "skills/list", params).json()["result"]
        assert result["resultType"] == "complete"
        assert (result["cacheScope"], result["ttlMs"] > 0) == ("private", True)
        entries += result["skills"]
        if "nextCursor" not in result:
            return entries
        params = {"cursor": result["nextCursor"]}


@pytest.mark.parametrize("page", [1, 3, 50])
def test_skills_are_files_whose_digests_hold(
    skills: list[Capability], key: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runnable_tools, "SKILLS_OF_PAGE", page)

    entries = listed(key)

    assert len({entry["uri"] for entry in entries}) == len(skills)
    by_content = {row.content.strip() for row in skills}
    for entry in entries:
        [file] = entry["resources"]
        name = entry["frontmatter"]["name"]
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) <= 64
        assert entry["uri"].split("/")[-2:] == [name, "SKILL.md"]
        assert (
            ask_modern(key, "skills/get", {"uri": entry["uri"]}).json()["result"]["skill"] == entry
        )
        [content] = ask(key, "resources/read", {"uri": entry["uri"]}).json()["result"]["contents"]
        assert (content["uri"], content["mimeType"]) == (file["uri"], "text/markdown")
        body = content["text"].encode()
        assert (len(body), f"sha256:{sha256(body).hexdigest()}") == (file["size"], file["digest"])
        _, front, rest = content["text"].split("---\n", 2)
        assert yaml.safe_load(front) == entry["frontmatter"]
        assert rest.strip() in by_content
        assert "allowed" not in json.dumps(entry["frontmatter"])


def test_reading_a_skill_is_a_call_with_its_record_and_approval(
    people: People, skills: list[Capability], key: str
) -> None:
    uris = {
        row.full_name: entry["uri"]
        for row in skills
        for entry in listed(key)
        if f"/{row.full_name}/" in entry["uri"]
    }
    ask(key, "resources/read", {"uri": uris[NAMES[0]]})

    assert Call.objects.get().full_name == NAMES[0]

    Capability.objects.filter(full_name=NAMES[0]).update(ai_access="propose")
    waiting = ask(key, "resources/read", {"uri": uris[NAMES[0]]}).json()

    assert "Step 0" not in json.dumps(waiting)
    assert "approv" in waiting["error"]["message"]
    assert not Call.objects.filter(state="completed").exclude(full_name=NAMES[0]).exists()
    assert Call.objects.filter(state="completed").count() == 1


@pytest.mark.parametrize("seed", range(9))
def test_hidden_skills_are_as_those_that_never_were(
    people: People, skills: list[Capability], key: str, seed: int
) -> None:
    before = listed(key)
    hide_something(people, Random(seed))
    hidden = Capability.objects.latest("pk")
    Capability.objects.filter(pk=hidden.pk).update(kind="skill")
    uri = runnable_tools.SkillFile(Capability.objects.get(pk=hidden.pk)).uri
    never = uri.replace(hidden.full_name, "never_was")

    assert listed(key) == before
    for method in ("skills/get", "resources/read"):
        answers = [ask(key, method, {"uri": address}).json() for address in (uri, never)]
        texts = [
            json.dumps(answer["error"]).replace(hidden.full_name, "never_was") for answer in answers
        ]
        assert texts[0].replace(runnable_tools.SkillFile(hidden).name, "N") == texts[1].replace(
            runnable_tools.SkillFile(hidden).name, "N"
        )


def test_lost_right_takes_the_skill_away(
    people: People, skills: list[Capability], key: str
) -> None:
    entry = next(file for file in listed(key) if NAMES[0] in file["uri"])
    take_away(skills[0].integration, people.support)

    assert entry not in listed(key)
    assert error(ask_modern(key, "skills/get", {"uri": entry["uri"]}))[1] == -32602
    headers = {"Mcp-Name": entry["uri"]}
    assert error(ask_modern(key, "resources/read", {"uri": entry["uri"]}, headers))[1] == -32602


def test_extension_is_announced_to_who_has_a_skill_and_may_call(
    people: People, skills: list[Capability], key: str
) -> None:
    announced = ask_modern(key, "server/discover").json()["result"]["capabilities"]
    older = ask(
        key,
        "initialize",
        {
            "protocolVersion": OLDEST,
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    ).json()["result"]["capabilities"]
    looking = key_of(people, "discover")

    assert announced["extensions"][SKILLS] == {}
    assert "resources" in announced
    assert "resources" in older
    assert (
        SKILLS
        not in ask_modern(looking, "server/discover").json()["result"]["capabilities"]["extensions"]
    )
    assert error(ask_modern(looking, "skills/list"))[1] == -32601
    assert error(ask_modern(key, "skills/list", {"cursor": "ä"}))[1] == -32602
    assert error(ask_modern(key, "skills/get"))[1] == -32602

    for row in skills:
        take_away(row.integration, people.support)
    nothing = ask_modern(key, "server/discover").json()["result"]["capabilities"]
    assert SKILLS not in nothing["extensions"]
    assert "resources" not in nothing
