"""Columns for the chain of an act: actor and credential. The subject is the row's own user."""

from typing import Any

from django.conf import settings
from django.db import models

from acl.actor.chain import ActorKind, CredentialKind
from acl.actor.request_context import current_chain


class ChainColumns(models.Model):
    """Actor and credential of an act.

    The ids have no constraint and are never reused, so they outlive the user and the key: a
    dangling id still shows that it was not the row's own user.
    """

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
        help_text="The person or service account that acted. Empty for a key without an owner.",
    )
    actor_kind = models.CharField(
        max_length=16,
        blank=True,
        default="",
        db_default="",
        choices=[(kind.value, kind.value) for kind in ActorKind],
    )
    credential = models.CharField(
        max_length=8,
        blank=True,
        default="",
        db_default="",
        choices=[(kind.value, kind.value) for kind in CredentialKind],
    )
    key = models.ForeignKey(
        "acl.ApiKey",
        models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        blank=True,
        related_name="+",
    )
    key_prefix = models.CharField(max_length=12, blank=True, default="", db_default="")
    key_name = models.CharField(max_length=120, blank=True, default="", db_default="")

    class Meta:
        abstract = True


def chain_columns() -> dict[str, Any]:
    """Return the values of ChainColumns for the current request."""
    chain = current_chain()
    return {
        "actor_id": chain.actor.id,
        "actor_kind": chain.actor.kind,
        "credential": chain.credential.kind,
        "key_id": chain.credential.id,
        "key_prefix": chain.credential.prefix,
        "key_name": chain.credential.name,
    }
