"""Knowledge about pasted packages: what the starter collection's listing of the same package says.

The listing is the only place that has it. Whoever pastes the name of a package gets its bounds,
variables, hosts and tools, and its version where no other one was named.
"""

from dataclasses import replace
from typing import Any

from packaging.utils import canonicalize_name

from catalog.formats.descriptors import IntegrationDescriptor
from catalog.formats.package_names import NotAPackageError, Package, parse_package
from marketplace.listings.package_test import ADDED, FINDINGS
from marketplace.models import Listing, Source

_INDEXES = ("pypi", "npm")


def add_knowledge(descriptor: IntegrationDescriptor) -> IntegrationDescriptor:
    """Return the descriptor with what is known of its package; unchanged if nothing is."""
    package = _package_of(descriptor)
    known = _find_listing(package) if package else None
    if package is None or known is None:
        return descriptor
    chosen = _complete(package, known)
    own = descriptor.source_ref
    reference = {
        **own,
        "type": ADDED,
        FINDINGS: known.details[FINDINGS],
        "hosts": [*known.details.get("hosts", ())],
        "tools": [
            {"name": tool["name"], "effect": tool["side_effect"]}
            for tool in known.tools
            if "side_effect" in tool
        ],
        "variables": own.get("variables") or known.needs.get("variables", []),
    }
    required = dict.fromkeys((*descriptor.required_secrets, *known.required_secrets))
    return replace(
        descriptor,
        command=chosen.command(),
        version=chosen.version,
        description=descriptor.description or known.description,
        homepage=descriptor.homepage or known.homepage,
        licence=descriptor.licence or known.licence,
        required_secrets=tuple(required),
        source_ref=reference,
    )


def _package_of(descriptor: IntegrationDescriptor) -> Package | None:
    try:
        package = parse_package(descriptor.command)
    except NotAPackageError:
        return None
    return package if package and package.index in _INDEXES else None


def _find_listing(package: Package) -> Listing | None:
    """Return the starter collection's listing of a package that is known to work."""
    wanted = f"{package.index}:{package.name}"
    if package.index == "pypi":
        wanted = f"pypi:{canonicalize_name(package.name)}"
    rows = Listing.objects.filter(source__kind=Source.Kind.STARTER, details__has_key=FINDINGS)
    return rows.filter(details__tested__package=wanted).order_by("pk").first()


def _complete(package: Package, known: Listing) -> Package:
    """Return the package with the known version, program and arguments where it names none."""
    values: dict[str, Any] = {"version": package.version or known.version}
    listed = parse_package(known.command)
    if listed is not None and not package.program and not package.arguments:
        values |= {"program": listed.program, "arguments": listed.arguments}
    return replace(package, **values)
