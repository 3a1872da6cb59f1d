"""Serializers of the listing endpoints."""

from typing import Any

from rest_framework import serializers

from acl.web.answer_serializer import serializer_for
from acl.web.api_views import CallerSerializer
from acl.web.strict_serializer import StrictSerializer
from catalog.models import Capability, Integration
from marketplace.listings._filters import Filters
from marketplace.listings.reviews import ListingReview
from marketplace.models import ListingVersion
from marketplace.offers.kinds.registry import CHOICES
from marketplace.offers.package_test import PackageTest

MOST_ITEMS = 100


class ListingsQuerySerializer(CallerSerializer):
    """A search, narrowed and paged."""

    query = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="What it should do, in plain words."
    )
    kind = serializers.ChoiceField(
        ["", *Integration.Kind.values], default="", help_text="Defaults to all kinds."
    )
    category = serializers.CharField(default="", allow_blank=True, max_length=60)
    # The metaclass collects the fields, so `source` does not override the attribute of `Field`.
    source = serializers.CharField(  # type: ignore[assignment]
        default="", allow_blank=True, max_length=48, help_text="Its slug."
    )
    show = serializers.ChoiceField(
        ["", "installed", "known", "updates", "held"],
        default="",
        help_text="Only what is installed, is known to work, has an update, or (for admins) is "
        "held for review.",
    )
    limit = serializers.IntegerField(default=24, min_value=1, max_value=MOST_ITEMS)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=10_000_000)


class ListingSerializer(serializers.Serializer[Any]):
    """A listing, as on a card."""

    slug = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.ChoiceField(Integration.Kind.choices)
    category = serializers.CharField()
    description = serializers.CharField()
    publisher = serializers.CharField()
    licence = serializers.CharField()
    version = serializers.CharField(help_text="The latest version.")
    transport = serializers.CharField(help_text="`stdio` starts a program here.")
    source = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="The source's slug."
    )
    required_secrets = serializers.ListField(child=serializers.CharField())
    tool_count = serializers.IntegerField(help_text="As declared by its source.")
    integration = serializers.CharField(
        allow_null=True,
        help_text="The integration that it is installed as; null if it is not, or not for you.",
    )
    installed_version = serializers.CharField(allow_null=True, help_text="For admins.")
    has_update = serializers.BooleanField(help_text="For admins.")
    known_to_work = serializer_for(PackageTest)(
        allow_null=True, help_text="The test of its package that comes with Pegboard."
    )
    described_only = serializers.BooleanField(
        help_text="Whether Pegboard only describes its tools: the client carries out their calls."
    )
    held = serializers.BooleanField(
        help_text="For admins: hidden from everyone else until an admin has reviewed its text."
    )


class ListingPageSerializer(serializers.Serializer[Any]):
    """A page of matching listings: best first, or by title if there is no query."""

    items = ListingSerializer(many=True)
    total = serializers.IntegerField()
    has_more = serializers.BooleanField()
    limit = serializers.IntegerField()
    offset = serializers.IntegerField()
    filters = serializer_for(Filters)()
    hint = serializers.CharField(help_text="Reason why the search used keywords only, or empty.")


class ListedToolSerializer(serializers.Serializer[Any]):
    """A tool, as its source describes it."""

    name = serializers.CharField()
    title = serializers.CharField(required=False)
    description = serializers.CharField(required=False)
    side_effect = serializers.ChoiceField(Capability.SideEffect.choices, required=False)


class ListedVersionSerializer(serializers.Serializer[Any]):
    """A version of a listing."""

    version = serializers.CharField()
    status = serializers.ChoiceField(ListingVersion.Status.choices)
    is_latest = serializers.BooleanField()
    published_at = serializers.DateTimeField(allow_null=True)


class VariableSerializer(serializers.Serializer[Any]):
    """A variable in the listing's requirements."""

    name = serializers.CharField()
    description = serializers.CharField()
    secret = serializers.BooleanField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    default = serializers.CharField(
        default="", help_text="Used where none is set: the source's, for what is no secret."
    )
    choices = serializers.ListField(
        child=serializers.CharField(), default=list, help_text="Values that the source names."
    )
    refusal = serializers.CharField(
        help_text="Why Pegboard never sets it, as the end of a sentence, or empty."
    )


ListingReviewSerializer = serializer_for(ListingReview)


class OneListingSerializer(ListingSerializer):
    """A listing in full."""

    tags = serializers.ListField(child=serializers.CharField())
    homepage = serializers.CharField()
    repository = serializers.CharField()
    readme = serializers.CharField(help_text="Markdown from a third party: sanitize it.")
    tools = ListedToolSerializer(many=True)
    versions = ListedVersionSerializer(many=True, help_text="The newest versions.")
    variables = VariableSerializer(many=True)
    problem = serializers.CharField(
        help_text="Why it cannot be installed: it requires a variable that Pegboard never sets."
    )
    files = serializers.ListField(child=serializers.CharField(), help_text="Of a skill.")
    source_kind = serializers.ChoiceField(CHOICES, allow_null=True)
    command = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="For admins."
    )
    endpoint = serializers.CharField(allow_null=True, help_text="For admins.")
    hosts = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="Hosts that it says it connects to. For admins.",
    )
    review = ListingReviewSerializer(allow_null=True, help_text="For admins.")


class SeenSerializer(StrictSerializer):
    """Digest of the texts that were reviewed."""

    seen = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`review.seen` of the listing, as it was looked up."
    )
