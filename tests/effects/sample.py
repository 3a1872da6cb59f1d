"""Samples of tools to label: `python -m tests.effects.sample` prints sources and ids by round.

Each round takes 60 tools of servers without any label, one a server, and never looks at the
classifier. `fresh.tsv` has their labels, written before the classifier was asked.
"""

import csv
import random
import sys
from pathlib import Path

from tests.effects.labelled import WITHOUT_SERVERS, definitions, labels

SEEDS = {1: 15, 2: 16, 3: 17, 4: 18, 5: 19}
SIZE = 60
# Most tools read. These rounds leave out names that begin so, for more that change something.
CHANGING_ROUNDS = {3, 5}
_READING = ("get", "list", "search", "find", "fetch", "query", "read", "check", "show", "describe")

# Slugs that have changed since the samples were drawn: the order of servers is that of then.
_DRAWN_AS = {
    "aika-ti-shi-ci-guan-limcp-9ac331df": "ai-mcp-9ac331df",
    "weibo-hot-search-service-huo-qu-wei-bo-f6395326": "weibo-hot-search-service-f6395326",
    "kuran-i-kerim-quran-api-server-c09815b1": "kuran-kerim-quran-api-server-c09815b1",
    "ji-suan-qi-calc-mcp-2aadb2c4": "calc-mcp-2aadb2c4",
    "ming-chao-mcp-server-1264c1a1": "mcp-server-1264c1a1",
    "xu-ni-bi-jia-ge-cha-xun-fu-wu-7bbb8fbe": "n7bbb8fbe",
    "mcpfu-wu-a36968d7": "mcp-a36968d7",
    "ygo-chinese-card-database-bai-ge-ygocdb-f14c8c82": (
        "ygo-chinese-card-database-ygocdb-com-f14c8c82"
    ),
    "gdb-mcp-fu-wu-qi-fdda0c9c": "gdb-mcp-fdda0c9c",
    "shi-jian-cha-xun-fu-wu-qi-ecd0a17f": "necd0a17f",
}


def fresh_rows() -> list[dict[str, str]]:
    """Return the labelled rows of all rounds."""
    with (Path(__file__).parent / "fresh.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t"))


def samples() -> dict[int, list[tuple[str, str]]]:
    """Return the sources and ids of each round, sorted."""
    servers = _servers_without_labels()
    found = {}
    for number, seed in SEEDS.items():
        generator = random.Random(seed)
        some = _without_readers(servers) if number in CHANGING_ROUNDS else servers
        chosen = generator.sample(sorted(some), SIZE)
        ids = [(server[0], generator.choice(some[server])) for server in chosen]
        servers = {server: its for server, its in servers.items() if server not in chosen}
        found[number] = sorted(ids)
    return found


def _without_readers(
    servers: dict[tuple[str, str], list[str]],
) -> dict[tuple[str, str], list[str]]:
    """Leave out tools whose name begins like one that reads."""
    kept = {
        server: [
            one for one in ids if not definitions()[server[0], one].action.startswith(_READING)
        ]
        for server, ids in servers.items()
    }
    return {server: ids for server, ids in kept.items() if ids}


def _servers_without_labels() -> dict[tuple[str, str], list[str]]:
    found = definitions()
    seen = {
        (one.source, _DRAWN_AS.get(slug := found[one.source, one.identifier].integration, slug))
        for name in ("labels.tsv", "categories.tsv")
        for one in labels(name)
    }
    servers: dict[tuple[str, str], list[str]] = {}
    for (source, identifier), one in sorted(found.items(), key=lambda item: item[0]):
        server = (source, _DRAWN_AS.get(one.integration, one.integration))
        if source not in WITHOUT_SERVERS and one.kind == "tool" and server not in seen:
            servers.setdefault(server, []).append(identifier)
    return servers


if __name__ == "__main__":
    for number, chosen in samples().items():
        for source, identifier in chosen:
            sys.stdout.write(f"{number}\t{source}\t{identifier}\n")
