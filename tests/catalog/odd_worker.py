"""A real worker with a small embedder, whose process dies where the test wants it.

A file in the folder KILL_AT names a point: `before_claim`, `before_model`, `after_model` or
`after_write`. The process that reaches it removes the file and dies. A text with the word "deadly"
kills every process that embeds it.
"""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import django

from marketplace.config.celery import app as app

django.setup()  # the imports below need the tables

from django.conf import settings  # noqa: E402

from catalog.embedding import configured_embedder, jobs  # noqa: E402
from catalog.embedding.embedder import Vectors  # noqa: E402
from catalog.embedding.jobs import VectorTable  # noqa: E402
from tests.catalog.builders import WordyEmbedder  # noqa: E402


class DeadlyEmbedder(WordyEmbedder):
    def embed(self, texts: Sequence[str]) -> Vectors:
        die_at("before_model")
        if any("deadly" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)


def die_at(point: str) -> None:
    file = Path(os.environ.get("KILL_AT", "/nowhere"), point)
    if file.is_file():
        file.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def around(work: Callable[..., Any], *, before: str, after: str) -> Callable[..., Any]:
    def surrounded(*arguments: Any) -> Any:
        die_at(before)
        answer = work(*arguments)
        die_at(after)
        return answer

    return surrounded


configured_embedder._providers[settings.PEGBOARD_EMBEDDER] = configured_embedder.LazyEmbedder(
    DeadlyEmbedder
)
VectorTable._claim = around(  # type: ignore[method-assign]
    VectorTable._claim, before="before_claim", after="after_claim"
)
jobs._TABLE = replace(
    jobs._TABLE,
    store=around(jobs._store, before="after_model", after="after_write"),
)
