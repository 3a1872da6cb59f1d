"""`manage.py turn_codes_off`: for when the only admin has lost their phone."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from acl.people.people import turn_codes_off


class Command(BaseCommand):
    help = "Turn off two-factor authentication for a person, who then signs in by password alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, username: str, **options: Any) -> None:
        person = User.objects.filter(username=username).first()
        if person is None:
            raise CommandError(f"There is no user named {username}.")
        turn_codes_off(by=None, person=person)
        self.stdout.write(f"{username} signs in without a code from now on.")
