"""List the packages of an image as CycloneDX: Python's, Debian's, and npm itself.

python sbom.py FILE                      # in the build of docker/Dockerfile
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

Component = dict[str, Any]
NPM = Path("/usr/local/lib/node_modules/npm")


def main(file: str) -> None:
    """Write the list, sorted and without a date: the same packages make the same file."""
    components = [*python_packages(), *debian_packages(), *npm_packages()]
    content = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "container", "name": "pegboard"}},
        "components": sorted(components, key=lambda component: str(component["purl"])),
    }
    Path(file).write_text(json.dumps(content, indent=1) + "\n")


def python_packages() -> Iterator[Component]:
    """Yield the packages that this Python can import."""
    for package in distributions():
        name = package.name.lower().replace("_", "-").replace(".", "-")
        yield _component(name, package.version, f"pkg:pypi/{name}", _license_of(package))


def debian_packages() -> Iterator[Component]:
    """Yield the packages of the base; none where dpkg is not."""
    try:
        listing = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}\n"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return
    for line in listing.splitlines():
        name, version, architecture = line.split()
        component = _component(name, version, f"pkg:deb/debian/{name}", "")
        yield component | {"purl": f"{component['purl']}?arch={architecture}"}


def npm_packages() -> Iterator[Component]:
    """Yield npm and what is inside it, where it is installed."""
    for file in NPM.rglob("package.json"):
        package = json.loads(file.read_text("utf-8"))
        if "name" in package and "version" in package and file.parent.parent.name == "node_modules":
            name = str(package["name"])
            license_name = package.get("license")
            yield _component(
                name,
                str(package["version"]),
                f"pkg:npm/{quote(name)}",
                license_name if isinstance(license_name, str) else "",
            )


def _component(name: str, version: str, purl: str, expression: str) -> Component:
    licenses = {"licenses": [{"expression": expression}]} if expression else {}
    purl = f"{purl}@{quote(version, safe='.+~-')}"
    return {"type": "library", "name": name, "version": version, "purl": purl, **licenses}


def _license_of(package: Distribution) -> str:
    """Return the license, where the package says it in SPDX's words."""
    return str(package.metadata.json.get("license_expression", ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
