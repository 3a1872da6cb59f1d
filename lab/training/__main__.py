"""Train the default encoder on labelled sets, and store the result as an adapter.

    python -m lab.training FOLDER … --work FOLDER --out FILE

lab/training.md has the rest. It needs no database.
"""

import os
import sys
from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
django.setup()

from catalog.embedding.embedder import EmbedderUnavailable  # noqa: E402 - Django is set up first
from discovery.evaluation import BadSet  # noqa: E402
from lab.training.fit import Recipe  # noqa: E402
from lab.training.recipe import NotInstalled, train_encoder  # noqa: E402


def main() -> int:
    """Train as the command line says; return the exit code."""
    parser = ArgumentParser(description="Train the encoder on labelled sets.")
    parser.add_argument("folders", type=Path, nargs="+", help="with catalog.jsonl, queries.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="the adapter's file to write")
    parser.add_argument("--work", type=Path, required=True, help="keeps how far the training is")
    parser.add_argument(
        "--only-measured", type=Path, nargs="*", default=[], help="never learned from"
    )
    for setting in fields(Recipe):
        kind = type(setting.default)
        parser.add_argument(f"--{setting.name}", type=kind, default=setting.default)
    options = parser.parse_args()
    recipe = Recipe(**{setting.name: getattr(options, setting.name) for setting in fields(Recipe)})
    try:
        provenance = train_encoder(
            options.folders,
            recipe,
            only_measured=options.only_measured,
            work=options.work,
            out=options.out,
            say=lambda line: print(line, flush=True),
        )
    except (BadSet, EmbedderUnavailable, NotInstalled) as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{options.out}: adapter {provenance['adapter']}, {options.out.stat().st_size:,} bytes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
