"""The layout of `docker/`, built and run on a real engine: `make test-containers`.

The tests are one story and share one layout, so they run in this order. `make test` does not
collect them: they need an engine, its base images, a package index, and ten minutes.
"""

import json
import os
import re
from collections.abc import Iterator

import httpx
import pytest
import yaml

from tests.docker.layout import (
    RATE,
    Layout,
    copy_checkout,
    documented_commands,
    git,
    missing_engine,
)
from tests.docs.commands import PROJECT
from tests.operate.load import Answer, Load

MESSAGE = "what time is it in Tokyo"
CLOCK = "date-time__now"
# What the docs leave to the reader, and commands that end with 1 where they find something.
STAND_INS = {
    "--rm web <command>": "--rm web check",
    "--rm set-up <command>": "--rm set-up rotate_secrets",
}
FINDS_SOMETHING = r".* (pegboard doctor|set_up --check)"
# Why a command of the docs is not run here.
NOT_RUN = {
    r".*EXTRAS=sentence-transformers.*": "torch is gigabytes",
    r"docker buildx build .*--push.*|docker/digests\.sh": "it needs a registry",
    r"docker compose -f docker/compose\.yaml up --build --detach": "the first test does",
}
# Parts without which a selection cannot be answered: what was at them when they died is lost.
ANSWERING = {"web", "proxy", "postgres"}


@pytest.fixture(scope="module")
def layout(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Layout]:
    """Start the layout by the commands of the docs, and print what was found at the end."""
    if reason := missing_engine():
        pytest.exit(f"The containers cannot be tried. {reason}", returncode=2)
    layout = Layout(copy_checkout(tmp_path_factory.mktemp("layout") / "new"), tag="test")
    try:
        for command in documented_commands():
            if command.startswith(("cp docker/", "docker/secrets.sh", "docker compose -f ")):
                layout.run(command)
        took = layout.wait_until_healthy()
        layout.figures.append(("all services healthy after the first start", f"{took:.0f} s"))
        layout.make_key()
        yield layout
    finally:
        layout.remove()
        rows = [f"| {what} | {result} |" for what, result in layout.figures]
        lines = ["", "", "| tried | result |", "|---|---|", *rows, ""]
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            request.config.get_terminal_writer().write("\n".join(lines))


def test_images_hold_what_their_role_needs(layout: Layout) -> None:
    base = layout.run("docker image inspect --format '{{.Size}}' python:3.11-slim-bookworm")
    for name in ("pegboard", "pegboard-connections"):
        image = f"{name}:{layout.tag}"
        size = int(layout.run(f"docker image inspect --format '{{{{.Size}}}}' {image}"))
        layout.figures.append(
            (f"size of `{name}`", f"{size / 1e6:.0f} MB, of which the base {int(base) / 1e6:.0f}")
        )
        look = f"docker run --rm --entrypoint sh {image} -c"
        servers = "-name postgres -o -name 'valkey-server' -o -name 'initdb'"
        assert layout.run(f'{look} "find /app /usr/local \\( {servers} \\) -type f"') == ""
        parts = json.loads(layout.run(f"{look} 'cat /app/sbom.cdx.json'"))["components"]
        purls = [part["purl"] for part in parts]
        assert any(purl.startswith("pkg:pypi/django@5") for purl in purls)
        assert any(purl.startswith("pkg:deb/debian/libc6@") for purl in purls)
        assert any(purl.startswith("pkg:npm/") for purl in purls) == (name != "pegboard")


def test_first_admin_signs_in_through_the_proxy(layout: Layout) -> None:
    password = layout.run("cat docker/secrets/pegboard_admin_password")
    with httpx.Client(
        base_url=layout.address,
        verify=False,  # noqa: S501
        follow_redirects=True,
    ) as browser:
        page = browser.get("/")
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
        form = {"login": "admin", "password": password, "csrfmiddlewaretoken": token}
        today = browser.post("/sign-in/", data=form, headers={"Referer": str(page.url)})

    assert (today.status_code, today.url.path) == (200, "/today/")
    layout.figures.append(("sign-in through the proxy", "lands on Today"))


def test_message_finds_its_tool(layout: Layout) -> None:
    answer = layout.ask("POST", "/select", {"message": MESSAGE, "user": "admin"}).json()

    assert answer["selected"][0]["full_name"] == CLOCK
    assert not answer["degraded"]
    layout.figures.append(("a selection", f"`{CLOCK}` first, not degraded"))


def test_package_is_installed_and_called_in_its_cell(layout: Layout) -> None:
    version = _starter_version("time")
    layout.manage(f'add "uvx mcp-server-time=={version}" --name clock --group everyone --yes')

    def installation() -> dict[str, str]:
        (row,) = layout.ask("GET", "/installations").json()
        assert row["state"] != "failed", row["message"]
        return dict(row)

    layout.wait_for(lambda: installation()["state"] == "ready", "The installation")
    call = {
        "name": "clock__get_current_time",
        "arguments": {"timezone": "Asia/Tokyo"},
        "user": "admin",
    }
    answer = layout.ask("POST", "/execute", call).json()
    look = "cat /proc/[0-9]*/status | sed -n s/^NSpid://p"
    process_ids = layout.run(f"docker compose exec -T connections sh -c '{look}'").splitlines()

    assert answer["status"] == "completed", answer
    # A process of a cell has an id of its own inside.
    assert any(len(ids.split()) > 1 for ids in process_ids), process_ids
    layout.figures.append(("a package installed, and called in its cell", "completed"))


def test_deny_is_in_force_at_both_replicas_at_once(layout: Layout) -> None:
    layout.run("docker compose up --detach --no-deps --no-recreate --scale web=2 web")
    layout.wait_until_healthy()
    names = [container["Name"].strip("/") for container in layout.containers()["web"]]
    before = {name: CLOCK in _selected_at(layout, name) for name in names}

    rule = {"group": "everyone", "effect": "deny", "capability": CLOCK}
    assert layout.ask("POST", "/access/rules", rule).status_code == 201
    after = {name: CLOCK in _selected_at(layout, name) for name in names}

    assert len(names) == 2
    assert (before, after) == (dict.fromkeys(names, True), dict.fromkeys(names, False))
    layout.run("docker compose up --detach --no-deps --no-recreate --scale web=1 web")
    layout.figures.append(("a deny, with two replicas", "in force at both with the next request"))


def test_every_container_command_of_the_docs_works(layout: Layout) -> None:
    """Among them a backup and its restore: the deny of before is lifted in between."""
    commands = documented_commands()
    layout.run(next(command for command in commands if command.endswith("--rm backup")))
    (rule,) = layout.ask("GET", "/access/rules").json()["items"]
    layout.ask("DELETE", f"/access/rules/{rule['id']}")
    lines = [command for command in commands if not _reason(command)]
    for command in sorted(lines, key=lambda line: " restore " not in line):
        for placeholder, meaning in STAND_INS.items():
            command = command.replace(placeholder, meaning)
        finds = re.fullmatch(FINDS_SOMETHING, command)
        if " restore " in command:
            with layout.load() as load:
                layout.run(command)
            layout.figures.append(("a restore under load", _told(load)))
            assert not _lost(load), _lost(load)[:3]
            (restored,) = layout.ask("GET", "/access/rules").json()["items"]
            assert restored["capability"] == CLOCK
            layout.ask("DELETE", f"/access/rules/{restored['id']}")
        else:
            layout.run(command, allowed=(0, 1) if finds else (0,))
    layout.wait_until_healthy()
    assert layout.ask("POST", "/select", {"message": MESSAGE, "user": "admin"}).status_code == 200
    layout.figures.append(("commands of the docs that were run", f"{len(lines)}"))


@pytest.mark.parametrize(
    "service",
    [
        *("worker", "connections", "broker", "beat", "manifests", "redis"),
        *("web", "proxy", "postgres"),
    ],
)
def test_killed_part_comes_back(layout: Layout, service: str) -> None:
    layout.run("docker compose up --detach --no-deps --no-recreate --scale worker=1 worker")
    layout.wait_until_healthy()
    with layout.load() as load:
        seconds = layout.kill(service)
    last = sorted(load.answers, key=lambda answer: answer.due)[-RATE:]

    layout.figures.append((f"`{service}` killed", f"healthy after {seconds:.0f} s; {_told(load)}"))
    assert all(answer.ok for answer in last)
    assert service in ANSWERING or not _lost(load), _lost(load)[:3]


def test_upgrade_loses_no_request_and_no_data(
    layout: Layout, tmp_path_factory: pytest.TempPathFactory
) -> None:
    layout.remove()
    revision = os.environ.get("UPGRADE_FROM") or _last_release()
    checkout = copy_checkout(tmp_path_factory.mktemp("layout") / "old", revision)
    old, new = Layout(checkout, tag="test-old"), Layout(layout.checkout, tag="test-new")
    old.run("cp docker/example.env docker/.env")
    old.run(f"cp -r {layout.checkout}/docker/secrets docker/")
    old.run("docker compose up --build --detach")
    old.wait_until_healthy()
    old.make_key()
    rule = {"group": "everyone", "effect": "deny", "capability": CLOCK}
    assert old.ask("POST", "/access/rules", rule).status_code == 201
    new.take_over(old)
    backup, *commands = _upgrade_commands()
    with old.load() as load:
        old.run(backup)
        for command in commands:
            finds = re.fullmatch(FINDS_SOMETHING, command)
            new.run(command, allowed=(0, 1) if finds else (0,))
        new.wait_until_healthy()

    images = {container["Config"]["Image"] for container in new.containers()["web"]}
    (rule_after,) = new.ask("GET", "/access/rules").json()["items"]
    assert images == {"pegboard:test-new"}
    assert rule_after["capability"] == CLOCK
    layout.figures.append((f"an upgrade from {revision} by the docs, under load", _told(load)))
    assert not _lost(load), _lost(load)[:3]


def _lost(load: Load) -> list[Answer]:
    """Return the requests without an answer; on a busy machine 503 says when to come again."""
    return [answer for answer in load.failed if answer.status != 503]


def _selected_at(layout: Layout, container: str) -> list[str]:
    """Return what one replica selects, asked inside its container."""
    program = (
        "import json, sys, urllib.request as r;"
        "q = r.Request('http://127.0.0.1:8000/api/v1/select', sys.argv[2].encode(), "
        "{'Authorization': 'Bearer ' + sys.argv[1], 'Content-Type': 'application/json', "
        "'Host': 'localhost', 'X-Forwarded-Proto': 'https'});"
        "print(json.dumps([t['full_name'] for t in json.load(r.urlopen(q))['selected']]))"
    )
    body = json.dumps({"message": MESSAGE, "user": "admin"})
    answer = layout.run(f"docker exec {container} python -c \"{program}\" {layout.key} '{body}'")
    return list(json.loads(answer))


def _starter_version(slug: str) -> str:
    """Return the version of a package that the starter collection names."""
    file = PROJECT / "marketplace" / "starter" / "listings.yaml"
    rows = yaml.safe_load(file.read_text("utf-8"))["listings"]
    return next(str(row["package"]["version"]) for row in rows if row["slug"] == slug)


def _reason(command: str) -> str:
    """Return why a command is not run here, or ""."""
    return next((why for pattern, why in NOT_RUN.items() if re.fullmatch(pattern, command)), "")


def _upgrade_commands() -> list[str]:
    """Return the commands of *Upgrades* in the docs, in their order, with the check before."""
    page = (PROJECT / "docs" / "running.md").read_text("utf-8")
    steps = page.split("In containers, in `docker/`,")[1].split("does the same at once")[0]
    commands = re.findall(r"`(docker compose [^`]+)`", steps)[:-1]
    return [
        line
        for command in commands
        for line in ([f"{command} set_up --check"] if command.endswith("set-up") else [])
        + [command]
    ]


def _last_release() -> str:
    """Return the last tag, or without any the commit before."""
    tag = git("describe", "--tags", "--abbrev=0", check=False).decode().strip()
    return tag or "HEAD~1"


def _told(load: Load) -> str:
    """Return a load's outcome in words."""
    lost = len(_lost(load))
    refused = len(load.failed) - lost
    failures = f"{lost} of {len(load.answers)} requests lost"
    failures += f", {refused} told when to come again" if refused else ""
    return f"{failures}, p95 {load.p(0.95):.0f} ms, the slowest {load.p(1) / 1000:.1f} s"
