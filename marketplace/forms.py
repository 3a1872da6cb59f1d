"""What people type into the pages of the marketplace."""

from django import forms

from marketplace.filtering import HELD, INSTALLED, UPDATES, Wanted

SHOWN = [("", "Everything"), (INSTALLED, "Installed"), (UPDATES, "Updates"), (HELD, "Held")]


class BrowseForm(forms.Form):
    """Search and filters, all of them in the address. A wrong value there counts as no filter."""

    q = forms.CharField(required=False, max_length=200)
    kind = forms.CharField(required=False, max_length=12)
    category = forms.CharField(required=False, max_length=60)
    source = forms.CharField(required=False, max_length=48)
    show = forms.ChoiceField(required=False, choices=SHOWN)
    page = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def wanted(self) -> Wanted:
        """The filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        return Wanted(
            words=data.get("q", ""),
            kind=data.get("kind", ""),
            category=data.get("category", ""),
            source=data.get("source", ""),
            show=data.get("show", ""),
            page=data.get("page") or 1,
        )
