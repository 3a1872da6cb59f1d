"""What an admin decides about a capability, whatever its source says."""

from collections.abc import Iterable
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction

from acl.services.audit import record
from catalog.models import Capability
from catalog.storing import write_derived
from catalog.tasks import send_embeddings


@transaction.atomic
def correct_capability(*, by: User, capability: Capability, changed: Iterable[str]) -> None:
    """Store the changed fields. A category that a person chose is not worked out any longer."""
    fields = set(changed)
    if "category" in fields:
        capability.category_inferred = False
        fields.add("category_inferred")
    capability.save(update_fields=[*fields, "updated_at"])
    details = {name: getattr(capability, name) for name in sorted(fields)}
    record(by=by, action="capability.change", target=str(capability), details=details)
    new_texts = write_derived([capability])
    transaction.on_commit(partial(send_embeddings, new_texts))
