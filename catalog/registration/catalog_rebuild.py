"""Rebuild of everything derived from the definitions."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby

from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from acl.audit.recorder import record
from acl.platform.database_connections import require_direct
from catalog.effects.server_categories import ServerTexts, ToolTexts, categorize
from catalog.embedding.jobs import chunks, failed_embeddings, pending_embeddings, send_embeddings
from catalog.locks import lock_catalog
from catalog.models import Capability, Embedding, Integration, Preset
from catalog.registration._derived_columns import DERIVED_COLUMNS, fill_derived_columns
from catalog.registration.descriptor_rows import overwrite, write_derived
from catalog.registration.embedding_models import register_configured_model
from catalog.relations.relations import refresh_presets, refresh_relations
from catalog.trust.gate import marked_as_reviewed

# A temporary catalogue next to the real one, in temporary tables.
#
# Postgres resolves names to a session's temporary tables first. So the same code works on an empty
# catalogue that nobody else sees and that vanishes with the session. Filling it takes the same
# advisory lock as imports into the real one.

_APPS = ("acl", "catalog")
_PEOPLE = ("auth_user", "auth_group", "auth_user_groups")


@contextmanager
def scratch_catalog(*, also: Sequence[str] = ()) -> Iterator[None]:
    """Give this connection empty tables of people, rights and capabilities, and of `also`.

    `also` names other tables that refer to these by key. Raises PooledError behind a pooler, where
    other clients would find these tables in place of the real ones.
    """
    require_direct()
    with connection.cursor() as cursor:
        for table in (
            *_PEOPLE,
            *[
                model._meta.db_table
                for app in _APPS
                for model in apps.get_app_config(app).get_models()
            ],
            *also,
        ):
            name = connection.ops.quote_name(table)
            cursor.execute(f"CREATE TEMPORARY TABLE {name} (LIKE public.{name} INCLUDING ALL)")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DISCARD TEMPORARY")


def is_scratch() -> bool:
    """Return True if this connection's catalogue is a temporary one, which has no triggers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_temp.catalog_capability') IS NOT NULL")
        return bool(cursor.fetchone()[0])


# Assignment of inferred categories, a server at a time, after its tools were stored.
# Statements name their columns, since a migration uses them on tables of any later release.

_TEXTS = ("integration__slug", "integration__title", "integration__description")


@transaction.atomic
def assign_categories(integrations: Collection[int]) -> int:
    """Categorize the integrations' tools whose category is inferred; return how many changed.

    The embedded text has declared categories only, so nothing is embedded again.
    """
    lock_catalog()
    changed: dict[str, list[int]] = {}
    rows = Capability.objects.filter(integration__in=list(integrations), category_inferred=True)
    if not is_scratch():
        # The gate's mark vouches for a whole row, so a row changed past it keeps its category.
        rows = rows.filter(reviewed=RawSQL("catalog_texts_digest(catalog_capability)", ()))
    value_rows = rows.order_by("integration_id", "pk").values_list(
        *_TEXTS, "pk", "category", "action", "description"
    )
    for texts, some in groupby(value_rows, key=lambda row: row[:3]):
        tools = list(some)
        names = [ToolTexts(action, description) for *_, action, description in tools]
        for tool, category in zip(tools, categorize(ServerTexts(*texts), names), strict=True):
            if tool[4] != category:
                changed.setdefault(category, []).append(tool[3])
    with marked_as_reviewed():
        for category, keys in changed.items():
            Capability.objects.filter(pk__in=keys).update(category=category)
    keys = [key for some in changed.values() for key in some]
    refresh_relations(keys)
    return len(keys)


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
