"""Recall of the nearest tools: the statement's candidates compared with numpy's exact result."""

from collections.abc import Sequence

import numpy as np
from django.contrib.auth.models import User

from acl.rights.caller_lookup import Caller
from catalog import lexical
from catalog.embedding.query_vectors import embed_queries
from catalog.models import Capability, Embedding, IntegrationGroupPermission
from discovery.select._candidate_rows import CandidateQuery
from discovery.select.candidates import find_candidates

NEAREST = 10


def recall(messages: Sequence[str]) -> float:
    """Return the share of each caller's ten nearest tools among the candidates."""
    links = list(User.groups.through.objects.order_by("pk").values_list("user_id", "group_id"))
    step = max(1, len(links) // len(messages))
    asked = zip(messages, links[::step], strict=False)
    shares = [_of_one(message, Caller(user, group)) for message, (user, group) in asked]
    return float(np.mean(shares))


def _of_one(message: str, caller: Caller) -> float:
    embedded = embed_queries([message])
    query = CandidateQuery(
        caller=caller,
        model=embedded.model,
        vectors=embedded.vectors,
        words=[lexical.query_vector(message)],
        connected=True,
    )
    candidates = find_candidates(query)
    found = {each.pk for each in candidates.found}
    nearest = _nearest(embedded.model, embedded.vectors[0], caller)
    return len(found & nearest) / len(nearest)


def _nearest(model: str, vector: np.ndarray, caller: Caller) -> set[int]:
    """Return the nearest by an exact sort. In this world rights are grants alone."""
    granted = IntegrationGroupPermission.objects.filter(group__in=caller.group_ids)
    usable = Capability.objects.filter(
        integration__in=granted.values("content_object"), available=True
    )
    rows = Embedding.objects.filter(model__name=model, capability__in=usable.values("pk"))
    pairs = list(rows.values_list("capability_id", "vector"))
    vectors = np.array([np.asarray(each, dtype=np.float32) for _, each in pairs])
    order = np.argsort(-(vectors @ np.asarray(vector, dtype=np.float32)))[:NEAREST]
    return {pairs[place][0] for place in order}
