"""Contracts about rooms, for import-linter: private modules, the order of rooms, and edges.

A module whose name begins with an underscore belongs to its package alone. A room's edges (`api`,
`pages`, `forms` …) know HTTP and may use any room of their app; what is no edge may import only
rooms below its own, and never an edge.
"""

import re
from abc import abstractmethod
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

EDGE = re.compile(
    r"(^|[._])(api|pages?|urls|forms?|serializers|mcp_view)(\.|$)|\.(admin|management|templatetags|migrations)(\.|$)"
)
# Rooms that are edges as a whole: what all edges share, and what only clients or readers see.
_ROOMS_OF_EDGES = (
    "acl.web",
    "acl.people.scim",
    "discovery.mcp",
    "discovery.playground",
    "marketplace.config",
    "marketplace.today",
)
_ROOM_PREFIXES = tuple(f"{room}." for room in _ROOMS_OF_EDGES)
_LIBRARIES = ("rest_framework", "django_htmx")

Imports = list[tuple[str, str]]


def is_edge(module: str) -> bool:
    """Return True for a module that may know HTTP and templates, by its name."""
    return bool(EDGE.search(module)) or f"{module}.".startswith(_ROOM_PREFIXES)


class _Rooms(Contract):
    """Base of contracts that list forbidden imports."""

    complaint = "{} imports {}"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        broken = sorted(self.find_broken(graph))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    @abstractmethod
    def find_broken(self, graph: ImportGraph) -> Imports:
        """Return the imports that break the contract: importer, imported module."""

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, module in check.metadata["broken"]:
            output.print_error(self.complaint.format(importer, module))


class PrivateModulesContract(_Rooms):
    """Contract: a module that begins with an underscore is imported in its own package only."""

    type_name = "private_modules"
    complaint = "{} imports {}, which its package keeps to itself"

    def find_broken(self, graph: ImportGraph) -> Imports:
        return [
            (importer, module)
            for module in graph.modules
            if module.rpartition(".")[2].startswith("_")
            for importer in graph.find_modules_that_directly_import(module)
            if not f"{importer}.".startswith(f"{module.rpartition('.')[0]}.")
        ]


class RoomOrderContract(_Rooms):
    """Contract: in an app, what is no edge imports rooms of lower layers only."""

    type_name = "room_order"
    complaint = "{} imports {}, which is no room below"

    app = fields.StringField()
    layers = fields.ListField(subfield=fields.StringField())

    def find_broken(self, graph: ImportGraph) -> Imports:
        app, layers = str(self.app), [str(layer) for layer in cast("list[str]", self.layers)]
        depth = {room: number for number, layer in enumerate(layers) for room in layer.split(" | ")}
        broken: Imports = []
        for module in graph.find_descendants(app):
            room = module.split(".")[1]
            if room not in depth and room not in ("migrations", "locale"):
                broken.append((module, "nothing yet: its room has no layer"))
            elif not is_edge(module):
                broken += [
                    (module, imported)
                    for imported in graph.find_modules_directly_imported_by(module)
                    if imported.startswith(f"{app}.")
                    and (below := imported.split(".")[1]) != room
                    and depth.get(below, -1) <= depth[room]
                ]
        return broken


class EdgesContract(_Rooms):
    """Contract: only edges import edges, Django REST framework and htmx."""

    type_name = "edges"
    complaint = "{} imports {}, though its name is no edge's"

    def find_broken(self, graph: ImportGraph) -> Imports:
        return [
            (module, imported)
            for module in graph.modules
            if module.count(".") > 1 and not is_edge(module)
            for imported in graph.find_modules_directly_imported_by(module)
            if is_edge(imported) or imported.split(".")[0] in _LIBRARIES
        ]
