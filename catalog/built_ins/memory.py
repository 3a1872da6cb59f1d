"""Memory: notes about a person that their assistant keeps between conversations."""

from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from catalog.built_ins.base import (
    RowOwner,
    Toolbox,
    ToolError,
    delete_keys,
    read_day,
    save_new,
    search_words,
)
from catalog.formats.descriptors import JSONObject
from catalog.models import Memo

SLUG = "memory"
TOOLS = Toolbox()


def _of(owner: RowOwner) -> QuerySet[Memo]:
    """Return the person's notes that still matter."""
    notes = Memo.objects.filter(user_id=owner.require())
    return notes.filter(Q(expires_on=None) | Q(expires_on__gte=timezone.now().date()))


def _describe(notes: QuerySet[Memo], limit: int) -> JSONObject:
    rows: list[dict[str, Any]] = [
        {
            "id": note.key,
            "content": note.text,
            "kind": note.kind,
            "stored_at": note.created_at.isoformat(timespec="seconds"),
        }
        for note in notes[:limit]
    ]
    return {"memories": rows}


@TOOLS.add("search")
def _search(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    notes = search_words(_of(owner), arguments["query"], "text")
    return _describe(notes, int(arguments.get("limit", 10)))


@TOOLS.add("store")
def _store(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    user_id = owner.require()
    Memo.objects.filter(user_id=user_id, expires_on__lt=timezone.now().date()).delete()
    note = save_new(
        Memo,
        user_id=user_id,
        text=arguments["content"],
        kind=arguments.get("kind", Memo.Kind.FACT),
        expires_on=read_day(arguments.get("expires_on")),
    )
    return {"id": note.key, "stored": True}


@TOOLS.add("recall")
def _recall(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    notes = _of(owner).order_by("-created_at", "-pk")
    if about := arguments.get("about"):
        notes = search_words(notes, about, "text")
    if kind := arguments.get("kind"):
        notes = notes.filter(kind=kind)
    if since := arguments.get("since"):
        try:
            moment = parse_datetime(str(since))
        except ValueError:
            moment = None
        if moment is None:
            raise ToolError("`since` is no moment. Write it as 2026-03-31T00:00:00Z.")
        notes = notes.filter(
            created_at__gte=moment if moment.tzinfo else timezone.make_aware(moment)
        )
    return _describe(notes, int(arguments.get("limit", 20)))


@TOOLS.add("forget")
def _forget(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    keys = list(arguments.get("memory_ids") or ())
    if about := arguments.get("about"):
        keys += search_words(_of(owner), about, "text").values_list("key", flat=True)
    if not arguments.get("memory_ids") and not about:
        raise ToolError("Say which: `memory_ids`, or what they are about.")
    return {"forgotten": delete_keys(Memo, user_id=owner.require(), keys=keys)}
