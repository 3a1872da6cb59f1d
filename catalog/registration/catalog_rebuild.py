"""Rebuild of everything derived from the definitions."""

from collections.abc import Callable, Sequence
from functools import partial

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from acl.audit.recorder import record
from catalog.embedding.jobs import failed_embeddings, pending_embeddings, send_embeddings
from catalog.embedding.vector_batches import chunks
from catalog.locks import lock_catalog
from catalog.models import Capability, Embedding, Integration, Preset
from catalog.registration._derived_columns import DERIVED_COLUMNS, fill_derived_columns
from catalog.registration.descriptor_rows import overwrite, write_derived
from catalog.registration.embedding_models import register_configured_model
from catalog.registration.scratch_catalog import assign_categories
from catalog.relations.stored_links import refresh_presets

REBUILD_BATCH = 500


def rebuild_catalog(
    *, by: User | None, force: bool = False, progress: Callable[[int, int], None] | None = None
) -> int:
    """Recompute derived columns, words, relations and vectors, and invalidate all caches.

    Failed embeddings are retried. `force` also re-embeds up-to-date vectors, which keep answering
    meanwhile. Returns the number of capabilities.
    """
    register_configured_model()
    ids = list(Capability.objects.order_by("pk").values_list("pk", flat=True))
    done = 0
    for some in chunks(ids, REBUILD_BATCH):
        _rebuild(some, force=force)
        done += len(some)
        if progress:
            progress(done, len(ids))
    assign_categories(list(Integration.objects.values_list("pk", flat=True)))
    refresh_presets(list(Preset.objects.values_list("pk", flat=True)))
    record(by=by, action="catalog.rebuild", target="catalogue", details={"force": force})
    return len(ids)


@transaction.atomic
def _rebuild(ids: Sequence[int], *, force: bool) -> None:
    lock_catalog()
    rows = list(Capability.objects.filter(pk__in=ids).select_related("integration").order_by("pk"))
    for row in rows:
        fill_derived_columns(row)
    overwrite(Capability, rows, DERIVED_COLUMNS)
    write_derived(rows)
    retried = failed_embeddings().filter(capability__in=ids)
    retried.update(attempts=0, failure="", sent_at=Now())
    if force:
        embeddings = Embedding.objects.filter(capability__in=ids)
        embeddings.update(vector_hash="", attempts=0, failure="", sent_at=Now())
    waiting = pending_embeddings().filter(capability__in=ids).order_by("capability_id")
    to_send = list(waiting.values_list("capability_id", flat=True).distinct())
    transaction.on_commit(partial(send_embeddings, to_send), robust=True)
