"""Measure how much a model's example requests help to find their tools, before they count.

Each request is asked with the tool's text as it is, and again with the other requests in it, so
none finds itself.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection

from acl.platform.jobs import move
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import Embedder, EmbedderUnavailable
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.texts import embedding_text
from catalog.models import Capability
from discovery.models import ExampleRun
from discovery.select.example_texts import embed_examples

AMONG = 5
# How many other tools are nearer than two distances: the tool's own before and after.
_NEARER = """
SELECT count(*) FILTER (WHERE distance < %s), count(*) FILTER (WHERE distance < %s)
FROM (
  SELECT e.vector <=> %s::vector AS distance
  FROM catalog_embedding e JOIN catalog_embeddingmodel m ON m.id = e.model_id
  JOIN catalog_capability c ON c.id = e.capability_id
  JOIN catalog_integration i ON i.id = c.integration_id
  WHERE m.name = %s AND e.vector IS NOT NULL AND c.id <> %s AND c.state = 'approved' AND i.enabled
) others
"""


def measure_run(pk: int) -> None:
    """Note for each proposal of a run how many of its texts find the tool; end the run.

    Without an embedder it ends without figures.
    """
    run = ExampleRun.objects.filter(pk=pk, state=ExampleRun.State.MEASURING).first()
    if run is None:
        return
    try:
        embedder = answering_embedder()
        proposals = {key: _measured(key, value, embedder) for key, value in run.proposals.items()}
    except EmbedderUnavailable:
        proposals = run.proposals
    move(run, ExampleRun.State.ENDED, unchanged=("state", "attempts"), proposals=proposals)


def _measured(key: str, proposal: Mapping[str, Any], embedder: Embedder) -> dict[str, Any]:
    row = Capability.objects.select_related("integration").filter(pk=key).first()
    texts: Sequence[str] = proposal["texts"]
    if row is None or len(texts) < 2:
        return dict(proposal)
    requests = embed_examples(texts, embedder)
    readings = [embedding_text(row)]
    for place in range(len(texts)):
        row.example_requests = {"texts": [*texts[:place], *texts[place + 1 :]]}  # is not saved
        readings.append(embedding_text(row))
    documents = embed_documents(embedder, readings)
    before, after = requests @ documents[0], np.sum(requests * documents[1:], axis=1)
    found_before = found_after = 0
    with connection.cursor() as cursor:
        for place, vector in enumerate(requests):
            as_text = "[" + ",".join(map(repr, vector.tolist())) + "]"
            distances = (1 - float(before[place]), 1 - float(after[place]))
            cursor.execute(_NEARER, [*distances, as_text, embedder.name, row.pk])
            nearer_before, nearer_after = cursor.fetchone()
            found_before += nearer_before < AMONG
            found_after += nearer_after < AMONG
    return {**proposal, "found_before": found_before, "found_after": found_after}
