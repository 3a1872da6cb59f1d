"""The page of prices of models."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest
from acl.web.staff_pages import admins_only
from discovery.insights.pages.insights_query import InsightsQuery, with_query
from discovery.insights.pages.overview import PRICES, render_insights
from discovery.models import ModelPrice
from discovery.models.chat import LONGEST_PATTERN
from discovery.prices.model import PriceRefusedError, delete_price, list_prices, set_price


class PriceForm(forms.Form):
    """A price in US dollars per million tokens."""

    model = forms.CharField(max_length=LONGEST_PATTERN)
    input_price = forms.DecimalField(max_digits=10, decimal_places=4, min_value=0)
    output_price = forms.DecimalField(max_digits=10, decimal_places=4, min_value=0)
    noted_on = forms.DateField(
        required=False, widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )
    source = forms.CharField(max_length=200, required=False)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
@with_query
def prices(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """List the prices of models, and set one."""
    form = PriceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            set_price(
                by=request.user,
                pattern=data["model"],
                input_price=data["input_price"],
                output_price=data["output_price"],
                noted_on=data["noted_on"],
                source=data["source"],
            )
        except PriceRefusedError as refused:
            form.add_error("model", str(refused))
        else:
            messages.success(request, _("The price was set."))
            return redirect("insights-prices")
    context = {"form": form, "prices": list_prices(), "ever": True}
    status = 422 if form.errors else 200
    return render_insights(request, query, "prices.html", context, tab=PRICES, status=status)


@admins_only
@require_POST
def remove_price(request: PageRequest, pk: int) -> HttpResponse:
    """Delete a price that an admin has set."""
    delete_price(by=request.user, price=get_object_or_404(ModelPrice, pk=pk))
    messages.success(request, _("The price was deleted."))
    return redirect("insights-prices")
