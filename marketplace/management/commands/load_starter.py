"""`manage.py load_starter`: load the starter collection that comes with Pegboard."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import Group
from django.core.management.base import BaseCommand

from catalog.models import Definition
from catalog.registration.register import register
from marketplace.listings.store import store_listings
from marketplace.offers.kinds.starter import starter_collection, starter_listings


class Command(BaseCommand):
    help = "Load the starter collection and its listings; unchanged entries stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--group", default="everyone", help="a group that may use the collection"
        )
        parser.add_argument("--json", action="store_true", help="print JSON, for scripts")

    def handle(self, *args: Any, group: str, **options: Any) -> None:
        first_group, _ = Group.objects.get_or_create(name=group)
        registered = register(
            starter_collection(),
            by=None,
            source="starter",
            origin=Definition.Origin.STARTER,
            group=first_group,
        )
        listings = store_listings(starter_listings(), source="starter")
        report = {"capabilities": asdict(registered), "listings": asdict(listings)}
        if options["json"]:
            self.stdout.write(json.dumps(report, indent=1))
        elif options["verbosity"]:
            self.stdout.write(
                f"{registered.created} capabilities new, {registered.changed} changed, "
                f"{registered.unchanged} unchanged; {listings.created} listings new"
            )
