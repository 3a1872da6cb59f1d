"""Listings that could help where nothing fits, offered with the answer to a message.

Only what every signed-in user sees in the marketplace is offered, whoever asks: an answer may be
read by others than the person it is for.
"""

from django.utils.translation import gettext as _

from discovery.select.helping_offers import MOST_OF_EACH, HelpOffer, Unmet
from discovery.select.ranking.thresholds import is_enough, margin
from marketplace.listings.listing_search import find_matches
from marketplace.listings.viewer import Viewer, visible_sources

# A listing's text is broad, so it has to be nearer than a tool's: at the common abilities' level.
LEAST_MARGIN = -0.05


def offer_listings(unmet: Unmet) -> list[HelpOffer]:
    """Return the listings nearest to the message, if they are near at all. Two statements."""
    viewer = Viewer(is_admin=False, caller=unmet.caller)
    keys = [source.pk for source in visible_sources(viewer)]
    matches = find_matches(unmet.message, sources=keys).found
    near = [
        match
        for match in matches
        if is_enough(
            margin([[match.cosine]], unmet.background and unmet.background[:1]), least=LEAST_MARGIN
        )
    ]
    return [
        HelpOffer(
            "listing",
            match.slug,
            _("%(listing)s in the marketplace may help; an admin can install it.")
            % {"listing": match.title},
        )
        for match in near[:MOST_OF_EACH]
    ]
