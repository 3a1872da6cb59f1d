"""Files written at the build of an image, without an engine."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import yaml

DOCKER = Path(__file__).parents[2] / "docker"


def test_list_of_contents_names_each_package_once(tmp_path: Path) -> None:
    file = tmp_path / "sbom.cdx.json"

    subprocess.run([sys.executable, DOCKER / "sbom.py", file], check=True)  # noqa: S603

    content = json.loads(file.read_text())
    purls = [component["purl"] for component in content["components"]]
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    assert f"pkg:pypi/django@{version('django')}" in purls
    assert purls == sorted(set(purls))


def test_bases_are_pinned_to_what_the_registry_says(tmp_path: Path) -> None:
    """Run it with a `docker` that knows a digest for every image."""
    for name in ("digests.sh", "Dockerfile", "compose.yaml"):
        (tmp_path / name).write_bytes((DOCKER / name).read_bytes())
    client = tmp_path / "docker"
    client.write_text(
        '#!/bin/sh\nprintf "sha256:%s\\n" "$(printf %s "$6" | sha256sum | cut -c1-64)"\n'
    )
    client.chmod(0o755)

    subprocess.run(  # noqa: S603
        ["/bin/sh", tmp_path / "digests.sh"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        check=True,
    )

    services = yaml.safe_load((tmp_path / "compose.digests.yaml").read_text())["services"]
    compose = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    arguments = services["set-up"]["build"]["args"]
    assert services["connections"]["build"]["args"] == arguments
    assert arguments["PYTHON_IMAGE"].startswith("python:3.11-slim-bookworm@sha256:")
    assert arguments["NODE_IMAGE"].startswith("node:22-bookworm-slim@sha256:")
    for name in ("postgres", "redis", "proxy"):
        assert services[name]["image"].startswith(f"{compose[name]['image']}@sha256:")
