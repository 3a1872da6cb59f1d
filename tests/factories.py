"""Factories of people and tools.

`give` and `lay_down` change rights as the product does. Nothing here is clever.
"""
# factory-boy's declarations have no types:
# mypy: disable-error-code="no-untyped-call, untyped-decorator"

from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import Group, User
from django.db.models.functions import Now
from factory.declarations import LazyAttribute, Sequence, SubFactory
from factory.django import DjangoModelFactory
from factory.helpers import post_generation
from guardian.shortcuts import assign_perm, remove_perm

from acl.models import GroupPolicy, Space
from catalog.models import (
    Capability,
    Embedding,
    EmbeddingModel,
    Integration,
    KeptLimit,
    LexicalVector,
    Rule,
)
from catalog.registration._derived_columns import (
    compute_lexical_terms,
    compute_text_hash,
    fill_derived_columns,
)
from catalog.relations.relations import refresh_relations
from discovery.calls.arguments import hash_of, serialize_arguments
from discovery.models import Call, Experience
from marketplace.models import Listing, Source


class GroupFactory(DjangoModelFactory[Group]):
    """A group with its policy and its root space."""

    name = Sequence(lambda number: f"group-{number}")

    class Meta:
        model = Group
        skip_postgeneration_save = True

    @post_generation
    def open(self: Group, create: bool, is_open: bool | None) -> None:
        # Outside of a transaction the database's triggers have created both already.
        GroupPolicy.objects.update_or_create(group=self, defaults={"open_default": bool(is_open)})
        Space.objects.get_or_create(
            group=self, parent=None, defaults={"name": "Root", "slug": "root"}
        )


class UserFactory(DjangoModelFactory[User]):
    """A user; `groups=[…]` makes them a member."""

    username = Sequence(lambda number: f"user-{number}")

    class Meta:
        model = User
        skip_postgeneration_save = True

    @post_generation
    def groups(self: User, create: bool, groups: list[Group] | None) -> None:
        self.groups.add(*(groups or ()))


class IntegrationFactory(DjangoModelFactory[Integration]):
    """A connected MCP server."""

    slug = Sequence(lambda number: f"integration-{number}")
    title = LazyAttribute(lambda integration: integration.slug.replace("-", " ").title())
    kind = Integration.Kind.MCP
    connection = Integration.Connection.CONNECTED

    class Meta:
        model = Integration


class SourceFactory(DjangoModelFactory[Source]):
    """A registry after its first refresh."""

    slug = Sequence(lambda number: f"source-{number}")
    title = LazyAttribute(lambda source: source.slug.replace("-", " ").title())
    kind = "registry"
    location = LazyAttribute(lambda source: f"https://{source.slug}.example")
    state = Source.State.READY

    class Meta:
        model = Source


class ListingFactory(DjangoModelFactory[Listing]):
    """An installable remote server."""

    slug = Sequence(lambda number: f"listing-{number}")
    title = LazyAttribute(lambda listing: listing.slug.replace("-", " ").title())
    key = LazyAttribute(lambda listing: listing.slug)
    source = SubFactory(SourceFactory)
    kind = Integration.Kind.MCP
    review = Listing.Review.CLEAR

    class Meta:
        model = Listing


class CapabilityFactory(DjangoModelFactory[Capability]):
    """A tool with its lexical vector; `vector=[…]` embeds it, otherwise it awaits embedding."""

    integration = SubFactory(IntegrationFactory)
    action = Sequence(lambda number: f"action_{number}")
    full_name = LazyAttribute(lambda own: f"{own.integration.slug}__{own.action}")
    identifier = LazyAttribute(lambda own: f"{own.kind}:{own.full_name}")
    kind = Capability.Kind.TOOL
    display_name = LazyAttribute(lambda own: own.action.replace("_", " ").capitalize())
    description = LazyAttribute(lambda own: f"{own.display_name} by {own.integration.slug}.")
    category = "other"
    definition_hash = LazyAttribute(
        lambda own: sha256(f"{own.full_name} {own.description}".encode()).hexdigest()
    )

    class Meta:
        model = Capability

    @classmethod
    def _create(
        cls, model_class: type[Capability], *, vector: list[float] | None = None, **columns: Any
    ) -> Capability:
        own = model_class(**columns)
        fill_derived_columns(own)
        # A made-up description says nothing: the effect is the one that a test asks for.
        own.side_effect = columns.get("side_effect", Capability.SideEffect.READ)
        own.effect_flags = columns.get("effect_flags", [])
        own.effect_confidence = columns.get("effect_confidence", 0.0)
        own.effect_evidence = columns.get("effect_evidence", {})
        own.save(force_insert=True)
        LexicalVector.objects.create(capability=own, terms=compute_lexical_terms(own))
        refresh_relations([own.pk])
        text = compute_text_hash(own)
        Embedding.objects.create(
            capability=own,
            model=active_model(),
            text_hash=text,
            vector=vector,
            vector_hash=text if vector else "",
        )
        return own


def active_model() -> EmbeddingModel:
    """Return the model whose vectors answer."""
    model, _ = EmbeddingModel.objects.get_or_create(
        active=True, defaults={"name": "made-up", "dimension": 3}
    )
    return model


def remember(capability: Capability, user: User, group: Group) -> Experience:
    """Store the experience that the user called it for a message similar to all others."""
    return Experience.objects.create(
        capability=capability,
        user=user,
        group=group,
        model=active_model(),
        turn=uuid4(),
        vector=[1, 0, 0],
        worth=1.0,
        gains=[0, 0.1, 0.2, 0.3, 0.4],
    )


def waiting_call(user: User, group: Group, capability: Capability, text: str) -> Call:
    """Create a pending call of the user's."""
    arguments = {"text": text}
    return Call.objects.create(
        user=user,
        group=group,
        capability=capability,
        full_name=capability.full_name,
        definition_hash=capability.definition_hash,
        side_effect="write",
        way=Call.Way.CLIENT,
        arguments_json=serialize_arguments(arguments),
        arguments_hash=hash_of(arguments),
        state=Call.State.WAITING,
        needs_approval=True,
        expires_at=Now() + timedelta(days=1),
    )


def give(target: Integration | Capability, to: User | Group) -> None:
    """Grant the use of an integration or of one capability."""
    assign_perm(_permission(target), to, target)


def take_away(target: Integration | Capability, of: User | Group) -> None:
    """Revoke such a grant."""
    remove_perm(_permission(target), of, target)


def lay_down(
    effect: Rule.Effect, target: Integration | Capability, space: Space, **subject: User | Group
) -> Rule:
    """Create a rule in a space, for `user=` or `group=`."""
    about = {"integration" if isinstance(target, Integration) else "capability": target}
    return Rule.objects.create(space=space, effect=effect, **about, **subject)


def keep(space: Space, name: str = "gone") -> KeptLimit:
    """Create a deny in a space that waits for an integration of this name."""
    return KeptLimit.objects.create(
        integration=name, effect=Rule.Effect.DENY, space=space, created_at=Now()
    )


def _permission(target: Integration | Capability) -> str:
    return f"catalog.use_{target._meta.model_name}"
