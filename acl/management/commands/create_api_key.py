"""`manage.py create_api_key --group G --scope select`: prints a new key, once."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.core.management.base import BaseCommand, CommandError

from acl.keys.lifecycle import KeyRefused, create_key
from acl.models import ApiKey, Application
from acl.platform.database_work import database_now


class Command(BaseCommand):
    help = "Create an API key and print it, once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--group", dest="groups", action="append", default=[], help="A group that it works in."
        )
        parser.add_argument(
            "--all-groups", action="store_true", help="All groups of whoever it acts for."
        )
        parser.add_argument(
            "--scope", dest="scopes", action="append", required=True, choices=ApiKey.Scope.values
        )
        parser.add_argument(
            "--acts-for-users", action="store_true", help="For any user of its groups."
        )
        parser.add_argument("--owner", help="Whom the key acts for when a request names nobody.")
        parser.add_argument("--application", help="The chat application that it belongs to.")
        parser.add_argument("--name", default="command line")
        parser.add_argument("--expires", type=int, metavar="DAYS")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        days = options["expires"]
        try:
            username, application = options["owner"], options["application"]
            key, raw = create_key(
                by=None,
                name=options["name"],
                groups=[Group.objects.get(name=name) for name in options["groups"]],
                all_groups=options["all_groups"],
                scopes=options["scopes"],
                owner=User.objects.get(username=username) if username else None,
                acts_for_users=options["acts_for_users"],
                application=Application.objects.get(name=application) if application else None,
                expires_at=database_now() + timedelta(days=days) if days is not None else None,
            )
        except (
            Application.DoesNotExist,
            Group.DoesNotExist,
            User.DoesNotExist,
            KeyRefused,
        ) as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(_as_json(key, raw) if options["json"] else raw)


def _as_json(key: ApiKey, raw: str) -> str:
    expires_at = key.expires_at.isoformat() if key.expires_at else None
    groups = sorted(group.name for group in key.groups.all())
    return json.dumps(
        {
            "key": raw,
            "id": key.pk,
            "name": key.name,
            "prefix": key.prefix,
            "group": min(groups, default=None),
            "groups": groups,
            "all_groups": key.all_groups,
            "scopes": key.scopes,
            "acts_for_users": key.acts_for_users,
            "expires_at": expires_at,
        }
    )
