"""Form for browsing the marketplace."""

from django import forms

from marketplace.listings.listing_filters import HELD, INSTALLED, UPDATES, ListingQuery

SHOWN = [("", "Everything"), (INSTALLED, "Installed"), (UPDATES, "Updates"), (HELD, "Held")]


class BrowseForm(forms.Form):
    """Search words and filters from the query string. Invalid values count as not set."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.CharField(required=False, max_length=12)
    category = forms.CharField(required=False, max_length=60)
    source = forms.CharField(required=False, max_length=48)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def to_query(self) -> ListingQuery:
        """Return the cleaned values as a query."""
        self.full_clean()
        data = self.cleaned_data
        return ListingQuery(
            words=data.get("q", ""),
            kind=data.get("kind", ""),
            category=data.get("category", ""),
            source=data.get("source", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )
