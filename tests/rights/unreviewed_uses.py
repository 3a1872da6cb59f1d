"""Calls that forget the review. They are never run: mypy refuses each marked line, and in strict
mode it refuses a mark where nothing is wrong. `make lint` fails once forgetting is allowed.
"""

from catalog.formats.descriptors import Descriptor
from catalog.models import Integration
from catalog.registration.descriptor_rows import store_capabilities
from catalog.trust.findings import trust_own_text
from catalog.trust.gate import UnreviewedDefinition, admit, review
from discovery.answer.formats.base import Tool


def forgetful(one: Descriptor, integration: Integration) -> None:
    store_capabilities([one], {"a": integration}, state="approved")  # type: ignore[list-item]


def hasty(one: UnreviewedDefinition, integration: Integration) -> None:
    store_capabilities([one], {"a": integration}, state="approved")  # type: ignore[list-item]


def careless(one: UnreviewedDefinition, integration: Integration) -> None:
    store_capabilities([review(one)], {"a": integration}, state="approved")  # type: ignore[list-item]


def right(one: UnreviewedDefinition, integration: Integration) -> None:
    store_capabilities([admit(one, pinned="x")], {"a": integration}, state="approved")


def shown(one: UnreviewedDefinition) -> Tool:
    return Tool("x", one.descriptor.display_name, trust_own_text("ours"))  # type: ignore[arg-type]


def ours() -> Tool:
    return Tool("x", trust_own_text("ours"), trust_own_text("ours"))
