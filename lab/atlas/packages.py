"""Packages of the atlas: those of the starter collection, and those that it leaves out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from catalog.formats.package_names import Index, Package

STARTER = Path(__file__).resolve().parents[2] / "marketplace" / "starter"
LEFT_OUT = Path(__file__).with_name("left_out.yaml")
_INDEXES: dict[str, Index] = {"python": "pypi", "node": "npm"}
# Made-up values, so that a program starts. None of them leaves its cell.
_MADE_UP = "made-up-by-the-atlas"
_SETTINGS = {
    "ALLOW_COMMANDS": "ls,cat,pwd",
    "ALLOWED_DIR": ".",
    "AWS_REGION": "eu-central-1",
    "DATABASE_URI": "postgresql://nobody:nothing@localhost:1/nothing",
    "MDB_MCP_CONNECTION_STRING": "mongodb://localhost:1/nothing",
    "NEO4J_URI": "bolt://localhost:1",
}


@dataclass(frozen=True, slots=True)
class AtlasPackage:
    """A package to install, with the names of its variables and what it is said to need."""

    slug: str
    index: str
    name: str
    version: str
    command: tuple[str, ...]
    variables: tuple[str, ...] = ()
    needs: str = ""  # network, account, or neither

    @property
    def configuration(self) -> str:
        """The package as a client's configuration names it."""
        server = {
            "command": self.command[0],
            "args": list(self.command[1:]),
            "env": dict.fromkeys(self.variables, ""),
        }
        return json.dumps({"mcpServers": {f"atlas-{self.slug}"[:48]: server}})

    def made_up(self) -> dict[str, str]:
        """Return a made-up value for each variable."""
        return {name: _made_up(name) for name in self.variables}


def read_packages() -> list[AtlasPackage]:
    """Return all packages, by their order in the files."""
    entries = yaml.safe_load((STARTER / "listings.yaml").read_text(encoding="utf-8"))["listings"]
    if LEFT_OUT.exists():
        entries += yaml.safe_load(LEFT_OUT.read_text(encoding="utf-8"))["listings"]
    return [_package(entry) for entry in entries if "package" in entry]


def _package(entry: dict[str, Any]) -> AtlasPackage:
    named, arguments = entry["package"], map(str, entry.get("arguments", ()))
    index, version = _INDEXES[named["kind"]], str(named["version"])
    program = named.get("program", "")
    package = Package(index, named["name"], version, program=program, arguments=tuple(arguments))
    return AtlasPackage(
        slug=entry["slug"],
        index=index,
        name=package.name,
        version=version,
        command=package.command(),
        variables=tuple(entry.get("required_secrets", ())),
        needs=entry.get("needs", ""),
    )


def _made_up(name: str) -> str:
    if name in _SETTINGS:
        return _SETTINGS[name]
    if name.endswith("URL"):
        return "https://atlas.invalid"
    return "atlas.invalid" if name.endswith("HOST") else _MADE_UP
