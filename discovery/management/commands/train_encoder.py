"""Trains the default encoder on labelled sets, and stores the result as an adapter."""

from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.embedding.embedder import EmbedderUnavailable
from discovery.evaluation.labelled_sets import BadSet
from discovery.evaluation.training.fit import Recipe
from discovery.evaluation.training.recipe import NotInstalled, train_encoder


class Command(BaseCommand):
    help = (
        "Train the encoder on folders with catalog.jsonl and queries.jsonl; see docs/training.md."
    )
    requires_system_checks: list[str] = []  # it needs no database

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folders", type=Path, nargs="+")
        parser.add_argument("--out", type=Path, required=True, help="the adapter's file to write")
        parser.add_argument(
            "--work", type=Path, required=True, help="keeps how far the training is"
        )
        parser.add_argument(
            "--only-measured",
            type=Path,
            nargs="*",
            default=[],
            help="folders that are never learned from",
        )
        for setting in fields(Recipe):
            kind = type(setting.default)
            parser.add_argument(f"--{setting.name}", type=kind, default=setting.default)

    def handle(
        self,
        *args: Any,
        folders: list[Path],
        only_measured: list[Path],
        out: Path,
        work: Path,
        **given: Any,
    ) -> None:
        recipe = Recipe(**{each.name: given[each.name] for each in fields(Recipe)})
        try:
            provenance = train_encoder(
                folders,
                recipe,
                only_measured=only_measured,
                work=work,
                out=out,
                say=self.stdout.write,
            )
        except (BadSet, EmbedderUnavailable, NotInstalled) as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(f"{out}: adapter {provenance['adapter']}, {out.stat().st_size:,} bytes.")
