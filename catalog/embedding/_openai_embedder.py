"""An OpenAI-compatible `/embeddings` endpoint.

Texts of capabilities and messages are sent only to the configured address: no redirects, no proxy
from the environment. The key never appears in errors.
"""

from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from acl.platform.strict_json import parse_json
from catalog.embedding.embedder import EmbedderUnavailable, TextRefused, Vectors, normalize_rows

BATCH = 64
LONGEST_TEXT = 8_000  # characters
TIMEOUT = httpx.Timeout(15.0, connect=3.0)
REFUSALS = {httpx.codes.BAD_REQUEST, httpx.codes.REQUEST_ENTITY_TOO_LARGE, 422}
NEEDING_KEY = {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}
LARGEST_NUMBER = 32  # bytes per number in the response
RESPONSE_OVERHEAD = 65_536


class OpenAIEmbedder:
    """An embedder over HTTP. `url` is the API's base, as in `https://embeddings.example/v1`."""

    def __init__(
        self,
        *,
        url: str,
        key: str,
        model: str,
        dimension: int,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.dimension = dimension
        self._model = model
        self._url = url.rstrip("/") + "/embeddings"
        host = httpx.URL(self._url).host
        self.name = f"{model}@{host}-{dimension}"
        self._has_key = bool(key)
        self.problem = ""  # of the last request, for admins
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=TIMEOUT,
            trust_env=False,
            transport=transport,
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        try:
            rows = [
                self._embed_batch(batch)
                for batch in [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
            ]
        except TextRefused:
            raise
        except EmbedderUnavailable as problem:
            self.problem = str(problem)
            raise
        self.problem = ""
        return normalize_rows(np.vstack(rows))

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        payload = {
            "model": self._model,
            "input": [text[:LONGEST_TEXT] or " " for text in texts],
            "encoding_format": "float",
        }
        answer = self._post(payload, limit=RESPONSE_OVERHEAD + len(texts) * self._row_limit)
        return self._read_vectors(answer, len(texts))

    @property
    def _row_limit(self) -> int:
        return self.dimension * LARGEST_NUMBER

    def _post(self, payload: dict[str, Any], limit: int) -> bytes:
        try:
            with self._client.stream("POST", self._url, json=payload) as response:
                if response.status_code != httpx.codes.OK:
                    status = response.status_code
                    refused = TextRefused if status in REFUSALS else EmbedderUnavailable
                    words = f"The embedding endpoint answered with status {status}."
                    if status in NEEDING_KEY and not self._has_key:
                        words += " PEGBOARD_EMBEDDING_KEY is not set."
                    raise refused(words)
                return _read_bounded(response, limit)
        except httpx.TimeoutException as error:
            raise EmbedderUnavailable("The embedding endpoint did not answer in time.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            kind = type(error).__name__
            raise EmbedderUnavailable(
                f"The embedding endpoint cannot be reached ({kind})."
            ) from error

    def _read_vectors(self, answer: bytes, expected: int) -> Vectors:
        try:
            data = sorted(
                parse_json(answer, max_depth=8)["data"], key=lambda row: int(row["index"])
            )
            rows = np.array([row["embedding"] for row in data], dtype=np.float32)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise EmbedderUnavailable(
                "The embedding endpoint returned an invalid response."
            ) from error
        if rows.shape != (expected, self.dimension):
            raise EmbedderUnavailable(
                f"The embedding endpoint returned shape {rows.shape}, "
                f"not {expected} vectors of {self.dimension}."
            )
        if not np.isfinite(rows).all():
            raise EmbedderUnavailable("The embedding endpoint returned non-finite numbers.")
        return rows


def _read_bounded(response: httpx.Response, limit: int) -> bytes:
    """Read the body, up to the size that a valid response can have."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limit:
            raise EmbedderUnavailable("The embedding endpoint's response is too large.")
    return bytes(body)
