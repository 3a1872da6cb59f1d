"""The compose file and the Dockerfile, without an engine: checked, linted and inspected."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from marketplace.config.settings_table import SETTINGS
from marketplace.operate.embedded.redis import ALLOWED_COMMANDS

PROJECT = Path(__file__).parents[2]
COMPOSE = PROJECT / "docker" / "compose.yaml"
OUTGOING = COMPOSE.with_name("compose.outgoing.yaml")
OURS = ["roles", "set-up", "web", "worker", "broker", "connections", "beat", "manifests", "backup"]
KEYS = {"pegboard_secret_key", "pegboard_encryption_keys"}


@pytest.fixture
def compose() -> dict[str, Any]:
    compose: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return compose


@pytest.fixture
def services(compose: dict[str, Any]) -> dict[str, Any]:
    services: dict[str, Any] = compose["services"]
    return services


def test_compose_file_is_valid() -> None:
    check = _check(COMPOSE, OUTGOING)

    assert check.returncode == 0, check.stdout


def test_schema_would_find_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text().replace("read_only", "readonly"))

    check = _check(wrong)

    assert "'readonly' was unexpected" in check.stdout


def _check(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run(  # noqa: S603
        [*command, *map(str, files)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", [*OURS, "proxy"])
def test_containers_have_no_powers(services: dict[str, Any], name: str) -> None:
    service = services[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    # The service that starts programs makes their cells, for which it needs namespaces.
    opened = ["seccomp:cell-seccomp.json", "apparmor:unconfined", "systempaths=unconfined"]
    added = opened if name == "connections" else []
    assert service["security_opt"] == ["no-new-privileges:true", *added]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if name == "proxy" else [])


def test_every_service_is_bounded_restarted_and_of_one_version(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys(), name
        once = name in {"roles", "set-up", "backup"}
        assert service["restart"] == ("no" if once else "unless-stopped"), name
        tag = service["image"].partition(":")[2]
        assert tag, name
        assert tag != "latest", name


@pytest.mark.parametrize("name", [name for name in OURS[2:] if name != "backup"])
def test_programs_wait_for_the_set_up(services: dict[str, Any], name: str) -> None:
    assert services[name]["depends_on"] == {
        "set-up": {"condition": "service_completed_successfully"},
        "redis": {"condition": "service_healthy"},
    }


def test_set_up_waits_for_the_servers(services: dict[str, Any]) -> None:
    healthy = {"condition": "service_healthy"}

    assert services["roles"]["depends_on"] == {"postgres": healthy}
    assert services["backup"]["depends_on"] == {"postgres": healthy, "redis": healthy}
    assert services["set-up"]["depends_on"] == {
        "roles": {"condition": "service_completed_successfully"},
        "redis": healthy,
    }
    assert all(services[name]["healthcheck"]["test"] for name in ("postgres", "redis", "proxy"))


def test_each_image_is_built_once(services: dict[str, Any]) -> None:
    builders: dict[str, list[str]] = {}
    for name in OURS:
        if "build" in services[name]:
            builders.setdefault(services[name]["image"], []).append(name)

    assert {len(names) for names in builders.values()} == {1}
    for name in OURS:
        assert services[name]["image"] in builders
        builds = name in builders[services[name]["image"]]
        assert services[name].get("pull_policy") == (None if builds else "never")


def test_only_the_proxy_can_be_reached(services: dict[str, Any]) -> None:
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}

    assert set(ports) == {"proxy"}
    assert all(port.startswith("${ADDRESS:-127.0.0.1}:") for port in ports["proxy"])


def test_only_the_process_that_goes_out_gets_out(compose: dict[str, Any]) -> None:
    inside = {
        name for name, network in compose["networks"].items() if (network or {}).get("internal")
    }
    out = {
        name for name, service in compose["services"].items() if set(service["networks"]) - inside
    }

    assert inside == {"front", "data", "vault"}
    assert out == {"proxy", "connections"}
    assert "data" not in compose["services"]["proxy"]["networks"]


def test_override_lets_web_and_worker_out_and_nobody_else() -> None:
    override = yaml.safe_load(OUTGOING.read_text())["services"]

    assert set(override) == {"web", "worker"}
    assert all("out" in service["networks"] for service in override.values())


def test_volumes_are_where_they_are_needed(services: dict[str, Any]) -> None:
    volumes = {name: services[name]["volumes"] for name in OURS if "volumes" in services[name]}

    assert volumes == {
        "web": ["sealing:/var/lib/pegboard/sealing:ro"],
        "broker": ["broker:/var/lib/pegboard/broker", "sealing:/var/lib/pegboard/sealing"],
        "connections": [
            "servers:/var/lib/pegboard/servers",
            "broker:/var/lib/pegboard/broker",
            "sealing:/var/lib/pegboard/sealing:ro",
        ],
        "manifests": ["${CAPABILITIES_DIR:-../capabilities}:/app/capabilities:ro"],
        "backup": ["backups:/backups"],
    }


def test_secrets_are_files_and_nowhere_else(compose: dict[str, Any]) -> None:
    made = (PROJECT / "docker" / "secrets.sh").read_text()
    text = COMPOSE.read_text() + (PROJECT / "docker" / "example.env").read_text()

    assert set(compose["secrets"]) == set(re.findall(r"^make_secret (\w+)", made, re.MULTILINE))
    assert not re.search(r"PEGBOARD_(SECRET_KEY|ENCRYPTION_KEYS)|POSTGRES_PASSWORD[:=]", text)


def test_each_service_has_only_the_passwords_that_it_needs(services: dict[str, Any]) -> None:
    passwords = {
        name: {secret for secret in service.get("secrets", ()) if secret.endswith("_password")}
        for name, service in services.items()
    }
    serving = {"database_password", "redis_password"}

    assert passwords == {
        "proxy": set(),
        "postgres": {"postgres_password"},
        "redis": {"redis_password"},
        "roles": {"postgres_password", "database_owner_password", "database_password"},
        "set-up": serving | {"database_owner_password", "pegboard_admin_password"},
        "backup": serving | {"database_owner_password"},
        "broker": {"database_password"},
        **dict.fromkeys(["web", "worker", "connections", "beat", "manifests"], serving),
    }
    for name in ("web", "worker", "broker", "connections", "beat", "manifests"):
        assert not {"DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL"} & set(
            services[name]["environment"]
        )


def test_keys_are_with_the_web_and_the_broker_alone(services: dict[str, Any]) -> None:
    serving = [name for name in OURS if name not in {"roles", "set-up", "backup"}]

    keys = {name: set(services[name]["secrets"]) & KEYS for name in serving}

    assert {name: kept for name, kept in keys.items() if kept} == {
        "web": {"pegboard_secret_key"},
        "broker": {"pegboard_encryption_keys"},
    }
    assert services["broker"]["networks"] == ["vault"]
    assert [name for name, one in services.items() if "vault" in one["networks"]] == [
        "broker",
        "postgres",
    ]


def test_any_setting_reaches_every_service(services: dict[str, Any]) -> None:
    extra = [{"path": "settings.env", "required": False}]

    assert all(services[name]["env_file"] == extra for name in OURS)


def test_optional_secrets_are_made_empty_and_mounted_where_they_are_used() -> None:
    outgoing = yaml.safe_load(OUTGOING.read_text())
    made = OUTGOING.with_name("secrets.sh").read_text()
    entrypoint = OUTGOING.with_name("entrypoint.sh").read_text()

    web, worker = (set(outgoing["services"][name]["secrets"]) for name in ("web", "worker"))
    assert web == set(outgoing["secrets"]) == worker | {"pegboard_oidc_client_secret"}
    assert all(name in made and name.upper() in entrypoint for name in web)


def test_redis_is_limited_as_the_embedded_one_is(services: dict[str, Any]) -> None:
    (script,) = services["redis"]["command"]

    assert f'may="{ALLOWED_COMMANDS}"' in script
    assert "user default on #$$digest" in script


def test_every_variable_is_documented_and_every_setting_exists() -> None:
    files = (COMPOSE, OUTGOING, COMPOSE.with_name("example.env"), COMPOSE.with_name("Caddyfile"))
    text = "\n".join(file.read_text() for file in files)
    named = set(re.findall(r"\$\{([A-Z0-9_]+)", text)) | set(
        re.findall(r"^#?([A-Z][A-Z0-9_]+)=", text, re.MULTILINE)
    )
    settings = {setting.name for setting in SETTINGS}

    running = (PROJECT / "docs" / "running.md").read_text()
    example = COMPOSE.with_name("example.env").read_text()

    explained = set(re.findall(r"`([A-Z0-9_]+)`", running)) | set(
        re.findall(r"^#?([A-Z][A-Z0-9_]+)=", example, re.MULTILINE)
    )
    undocumented = named - settings - explained
    assert undocumented == set()


def test_every_setting_can_be_set(services: dict[str, Any]) -> None:
    """Set each as a secret, in .env if it is named, else in settings.env; or the layout does."""
    outgoing: dict[str, Any] = yaml.safe_load(OUTGOING.read_text())
    secrets = set(outgoing["secrets"]) | set(services["set-up"]["secrets"])
    bases: list[dict[str, Any]] = [services, outgoing["services"]]
    environments = [
        base[name].get("environment", {}) for base in bases for name in OURS if name in base
    ]
    by_layout = {
        *("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL", "REDIS_URL"),
        *("PEGBOARD_BROKER", "PEGBOARD_SEALING_KEY", "PEGBOARD_PROXY_PLACE"),
    }

    for name in (setting.name for setting in SETTINGS):
        values = {env[name] for env in environments if name in env}
        is_in_env = all(f"${{{name}:-" in str(each) for each in values)
        assert name.lower() in secrets or is_in_env or name in by_layout, name


def test_names_of_the_environment_are_ours_or_their_programs(services: dict[str, Any]) -> None:
    known = {setting.name for setting in SETTINGS} | {"WEB_CONCURRENCY", "WORKER_CONCURRENCY"}

    given = {name for service in OURS for name in services[service]["environment"]}

    assert given - known == {"OTEL_EXPORTER_OTLP_ENDPOINT"}


DOCKERFILE = PROJECT / "docker" / "Dockerfile"
LINES = DOCKERFILE.read_text().replace("\\\n", " ").splitlines()
PYTHON = "python:3.11-slim-bookworm"


def test_linter_has_nothing_to_say() -> None:
    linter = Path(sys.executable).with_name("hadolint")

    answer = subprocess.run(  # noqa: S603
        # The one rule that we break on purpose: two COPYs have different targets.
        [linter, "--no-color", "--ignore=DL3059", DOCKERFILE],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.parametrize("stage", ["pegboard", "connections"])
def test_stages_that_run_do_not_run_as_root(stage: str) -> None:
    users = [line.split()[1] for line in _stages()[stage] if line.startswith("USER")]

    assert users[-1:] == ["10001"]


def test_stages_that_run_have_no_tools_to_build_by() -> None:
    stages = _stages()
    bases = {name: lines[0].split()[1] for name, lines in stages.items()}

    assert bases == {
        "python-by-tag": PYTHON,
        "node-by-tag": "node:22-bookworm-slim",
        "python": "${PYTHON_IMAGE}",
        "node": "${NODE_IMAGE}",
        "packages": "python",
        "application": "packages",
        "trimmed": "application",
        "common": "python",
        "pegboard": "common",
        "connections": "common",
    }
    running = "\n".join([*stages["common"], *stages["pegboard"], *stages["connections"]])
    assert not any(word in running for word in ("apt-get", "pip install", "npm install", "gcc"))


def test_image_says_whether_it_is_healthy() -> None:
    assert any(line.startswith("HEALTHCHECK") for line in _stages()["common"])


def test_packages_are_installed_by_hash() -> None:
    installs = [part for line in LINES for part in line.split("&&") if "pip install" in part]

    assert len(installs) == 3
    assert all("--no-deps --require-hashes -r " in part for part in installs)


def test_everything_copied_exists_and_reaches_the_build() -> None:
    sources = _copied()

    allowed = (PROJECT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert all((PROJECT / source).exists() for source in sources)
    assert {f"!{source}" for source in sources} <= set(allowed)


@pytest.mark.parametrize("app", ["acl", "catalog", "discovery", "marketplace"])
def test_every_app_is_in_the_image(app: str) -> None:
    assert app in _copied()


@pytest.mark.parametrize("name", ["entrypoint.sh", "secrets.sh"])
def test_scripts_can_be_executed(name: str) -> None:
    assert os.access(PROJECT / "docker" / name, os.X_OK)


def _copied() -> list[str]:
    copies = [line.split()[1:] for line in LINES if line.startswith("COPY")]
    return [word for words in copies if not words[0].startswith("--from") for word in words[:-1]]


def _stages() -> dict[str, list[str]]:
    """Return the lines of each stage by its name."""
    stages: dict[str, list[str]] = {}
    for line in LINES:
        if line.startswith("FROM"):
            stages[line.split()[-1]] = current = [line]
        elif stages:
            current.append(line)
    return stages
