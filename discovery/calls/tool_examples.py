"""Examples of arguments for a tool: saved by admins, read by everyone who may use the tool."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from catalog.formats.descriptors import JSONObject
from catalog.models import Capability
from discovery.calls.argument_check import check_arguments
from discovery.calls.call_arguments import serialize_arguments
from discovery.models import ToolExample

MOST_EXAMPLES = 20


class ExampleRefusedError(Exception):
    """The example cannot be saved; the text says why."""


def examples_of(capability: Capability) -> list[ToolExample]:
    """Return the tool's examples by title. Callers have checked that the tool may be used."""
    return list(ToolExample.objects.filter(capability=capability)[:MOST_EXAMPLES])


@transaction.atomic
def save_example(
    *, by: User, capability: Capability, title: str, arguments: JSONObject
) -> ToolExample:
    """Save arguments as an example, in place of one with the same title.

    Raises ArgumentsRefusedError, or ExampleRefusedError if there are too many.
    """
    check_arguments(capability.input_schema, arguments)
    # Locked, so that two admins at once do not exceed the limit.
    Capability.objects.select_for_update(of=("self",)).get(pk=capability.pk)
    others = ToolExample.objects.filter(capability=capability).exclude(title=title)
    if others.count() >= MOST_EXAMPLES:
        raise ExampleRefusedError(
            _("A tool has at most %(number)s examples. Delete one first.")
            % {"number": MOST_EXAMPLES}
        )
    example, _created = ToolExample.objects.update_or_create(
        capability=capability,
        title=title,
        defaults={"arguments_json": serialize_arguments(arguments), "created_by": by},
    )
    record(by=by, action="tool_example.saved", target=f"{capability.full_name}: {title}")
    return example


@transaction.atomic
def delete_example(*, by: User, example: ToolExample) -> None:
    """Delete an example."""
    target = f"{example.capability.full_name}: {example.title}"
    example.delete()
    record(by=by, action="tool_example.deleted", target=target)
