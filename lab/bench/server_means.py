"""Tasks of several steps, and what the mean vectors of servers' tools add to them.

    python -m lab.bench.server_means ../shared/eval/toucan-mcp-catalog

Prints recall@5, NDCG@10 and complete@10 by the shipped weighing and other shares of the servers,
and how many of the implied tools are among the first ten. Needs no database.
"""

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import django
import numpy as np

if TYPE_CHECKING:
    from catalog.formats.descriptors import Descriptor
    from discovery.select.ranking.fusion import Scale
    from lab.training._evidence import LabelledQuestion

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalogue", type=Path)
    folder = parser.parse_args().catalogue
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
    django.setup()
    # Imported here: they read the settings.
    from catalog.embedding.onnx_embedder import OnnxEmbedder
    from catalog.embedding.shipped_model import prepare_model
    from discovery.evaluation import stored_id
    from discovery.select.ranking.fusion import scale_of
    from lab.training._evidence import LabelledRequest, by_fusion, find_evidence, measure
    from tests.ranking.tasks import read_tasks

    with tempfile.TemporaryDirectory() as root:
        embedder = OnnxEmbedder(prepare_model(Path(root)))
    tools, tasks, scale = _installed(folder), read_tasks(), scale_of(embedder.name)
    asked = [
        LabelledRequest(row["query"], [stored_id(each) for each in row["relevant"]])
        for row in tasks
    ]
    implied = [{stored_id(each) for each in row["implied"]} for row in tasks]
    found = list(find_evidence(tools, asked, embedder))
    print(f"| share of the server | {len(asked)} tasks, {len(tools)} tools | implied |")
    print("|--:|--:|--:|")
    for share in SHARES:
        weighed = scale._replace(server_share=share)
        figures = measure(found, partial(by_fusion, scale=weighed))
        shown = " / ".join(f"{value:.1f}" for value in figures)
        named = _count_first(found, tools, implied, weighed)
        print(f"| {share} | {shown} | {named} of {sum(map(len, implied))} |")


def _installed(folder: Path) -> "list[Descriptor]":
    from acl.platform.strict_json import parse_json
    from catalog.formats.loader import load_path
    from discovery.evaluation import stored_id
    from tests.ranking.tasks import read_servers

    path, servers = folder / "catalog.jsonl", read_servers()
    rows = map(parse_json, path.read_text("utf-8").splitlines())
    kept = {stored_id(row["id"]) for row in rows if row["server"] in servers}
    return [each for each in load_path(path).capabilities if each.identifier in kept]


def _count_first(
    found: "list[LabelledQuestion]",
    tools: "list[Descriptor]",
    wanted: list[set[str]],
    scale: "Scale",
) -> int:
    """Count the wanted tools that are among the first ten of their message."""
    from lab.training._evidence import by_fusion

    first = (one.places[np.argsort(-by_fusion(one, scale), kind="stable")[:10]] for one in found)
    return sum(
        len({tools[place].identifier for place in places} & ids)
        for places, ids in zip(first, wanted, strict=True)
    )


if __name__ == "__main__":
    main()
