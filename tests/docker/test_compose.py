"""The compose file, without an engine: against the schema that check-jsonschema brings along."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

COMPOSE = Path(__file__).parents[2] / "docker" / "compose.yaml"
OURS = ["set-up", "web", "worker", "connections", "beat", "manifests"]


@pytest.fixture
def services() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())["services"]
    return services


def test_compose_file_is_valid() -> None:
    check = _check(COMPOSE)

    assert check.returncode == 0, check.stdout


def test_schema_would_find_a_mistake(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text().replace("read_only", "readonly"))

    check = _check(wrong)

    assert "'readonly' was unexpected" in check.stdout


def _check(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run([*command, str(file)], capture_output=True, text=True)  # noqa: S603


@pytest.mark.parametrize("name", OURS)
def test_our_containers_have_no_powers(services: dict[str, Any], name: str) -> None:
    service = services[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", OURS[1:])
def test_programs_wait_for_the_set_up(services: dict[str, Any], name: str) -> None:
    condition = services[name]["depends_on"]["set-up"]["condition"]

    assert condition == "service_completed_successfully"


def test_only_the_web_can_be_reached_and_only_from_here(services: dict[str, Any]) -> None:
    ports = {name: service["ports"] for name, service in services.items() if "ports" in service}

    assert ports == {"web": ["127.0.0.1:${PORT:-8000}:8000"]}


def test_manifests_are_only_read(services: dict[str, Any]) -> None:
    volumes = {
        name: service["volumes"]
        for name, service in services.items()
        if name in OURS[1:] and "volumes" in service
    }

    assert volumes == {
        "connections": ["servers:/var/lib/pegboard/servers"],
        "manifests": ["${CAPABILITIES_DIR:-../capabilities}:/app/capabilities:ro"],
    }


def test_secrets_have_no_default() -> None:
    text = COMPOSE.read_text()

    assert "${POSTGRES_PASSWORD:?" in text
    assert "${PEGBOARD_SECRET_KEY:?" in text


def test_every_image_names_its_version(services: dict[str, Any]) -> None:
    tags = [service["image"].partition(":")[2] for service in services.values()]

    assert all(tag and tag != "latest" for tag in tags)
