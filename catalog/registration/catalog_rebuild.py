"""Working everything out again that follows from the definitions."""

from collections.abc import Callable, Sequence
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from acl.audit.recorder import record
from catalog.embedding.embedding_jobs import chunks, failed, pending
from catalog.embedding.model_switch import register_configured_model
from catalog.graph.stored_links import refresh_presets
from catalog.locks import lock_catalog
from catalog.models import Capability, Embedding, Preset
from catalog.registration.derived_columns import fill_in
from catalog.registration.descriptor_rows import overwrite, write_derived
from catalog.tasks import send_embeddings

REBUILT_AT_ONCE = 500


def rebuild_catalog(
    *, by: User | None, force: bool = False, progress: Callable[[int, int], None] | None = None
) -> int:
    """Words, relations, estimates and promised vectors of every capability anew, and every cache an
    old one.

    What has failed gets another chance. `force` embeds also what has the right vector already; it
    answers by that one meanwhile. Returns how many capabilities there are.
    """
    register_configured_model()
    ids = list(Capability.objects.order_by("pk").values_list("pk", flat=True))
    done = 0
    for some in chunks(ids, REBUILT_AT_ONCE):
        _rebuild(some, force=force)
        done += len(some)
        if progress:
            progress(done, len(ids))
    refresh_presets(list(Preset.objects.values_list("pk", flat=True)))
    record(by=by, action="catalog.rebuild", target="catalogue", details={"force": force})
    return len(ids)


@transaction.atomic
def _rebuild(ids: Sequence[int], *, force: bool) -> None:
    lock_catalog()
    rows = list(Capability.objects.filter(pk__in=ids).select_related("integration").order_by("pk"))
    for row in rows:
        fill_in(row)
    overwrite(Capability, rows, ["tokens", "fingerprint", "parameters_summary"])
    write_derived(rows)
    again = failed().filter(capability__in=ids)
    again.update(attempts=0, failure="", sent_at=Now())
    if force:
        promises = Embedding.objects.filter(capability__in=ids)
        promises.update(vector_hash="", attempts=0, failure="", sent_at=Now())
    waiting = pending().filter(capability__in=ids).order_by("capability_id")
    to_send = list(waiting.values_list("capability_id", flat=True).distinct())
    transaction.on_commit(partial(send_embeddings, to_send), robust=True)
