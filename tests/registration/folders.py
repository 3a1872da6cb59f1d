"""Manifests as people write them, in two folders of which the first goes first."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from catalog.models import Capability, ManifestFile
from catalog.registration.manifest_reload import ReloadReport, reload_manifests

LAMP = "name: lamp\nkind: tool\ndescription: Switches a lamp on and off.\n"


def manifest(name: str, description: str = "", *, more: str = "", kind: str = "tool") -> str:
    return f"name: {name}\nkind: {kind}\ndescription: {description or f'It is {name}.'}\n{more}"


@dataclass
class Folders:
    """The first folder and the second."""

    first: Path
    second: Path

    def put(
        self, text: str, name: str = "lamp", *, second: bool = False, file: str = "CAPABILITY.yaml"
    ) -> Path:
        """A file in a folder of its own; by default the manifest of the lamp."""
        path = (self.second if second else self.first) / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def remove(self, name: str = "lamp", *, second: bool = False) -> None:
        shutil.rmtree((self.second if second else self.first) / name)

    def read(self, *, prune: bool = False, only_first: bool = False) -> ReloadReport:
        watched = (self.first,) if only_first else (self.first, self.second)
        return reload_manifests(by=None, folders=watched, prune=prune)


def one(full_name: str = "lamp") -> Capability:
    return Capability.objects.select_related("integration").get(full_name=full_name)


def reasons(report: ReloadReport) -> list[str]:
    """Field and reason of every defect."""
    return [f"{defect.field}: {defect.reason}" for defect in report.defects]


def provider(full_name: str = "lamp") -> Path | None:
    """Return the manifest that provides the capability."""
    row = ManifestFile.objects.filter(capability__full_name=full_name).first()
    return Path(row.path) if row else None
