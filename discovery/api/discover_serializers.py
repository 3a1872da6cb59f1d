"""The bodies of discovery in tiers."""

from acl.http.answer_serializer import serializer_for
from acl.http.strict_serializer import Number, Share
from discovery.api.select_serializers import MessageSerializer, RoomSerializer
from discovery.turns.discover_answer import DiscoverAnswer

MOST_TOKENS = 20_000
MOST_LINES, MOST_IN_FULL = 20, 5


def _budget(tier: int) -> Number:
    return Number(
        required=False,
        min_value=0,
        max_value=MOST_TOKENS,
        help_text=f"Tokens of tier {tier}, at most; without it the deployment's.",
    )


class DiscoverRequestSerializer(RoomSerializer, MessageSerializer):
    """A message, and how much may be told for it."""

    tier0_tokens = _budget(0)
    tier1_tokens = _budget(1)
    tier2_tokens = _budget(2)
    tier1_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_LINES,
        help_text="How many get a line in tier 1.",
    )
    tier2_top = Number(
        required=False,
        min_value=0,
        max_value=MOST_IN_FULL,
        help_text="How many of these are told in full in tier 2.",
    )
    relevance = Share(required=False, help_text="The least score of what gets a line.")


DiscoverySerializer = serializer_for(DiscoverAnswer)
