"""Pages of use and cost, of quotas, and of prices of models."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group, User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.models import Application
from acl.web.frame import PageRequest, admins_only
from catalog.models import Capability
from discovery.calls.quotas import (
    QuotaRefusedError,
    count_use,
    delete_quota,
    list_quotas,
    own_quotas,
    set_quota,
)
from discovery.insights.pages.insights_query import InsightsQuery, with_query
from discovery.insights.pages.overview import PRICES, QUOTAS, USE, render_insights
from discovery.insights.use import By, read_call_use
from discovery.models import ModelPrice, Quota
from discovery.models.chat import LONGEST_PATTERN
from discovery.prices.model import PriceRefusedError, delete_price, list_prices, price_of, set_price

# Pages of use and cost, and of quotas.

MOST_LIMIT = 10**12


class QuotaForm(forms.Form):
    """A quota: for whom, of what, and its limits."""

    whose = forms.ChoiceField(
        choices=[
            ("all", gettext_lazy("All people together")),
            ("each", gettext_lazy("Each person")),
            ("one", gettext_lazy("One person")),
        ]
    )
    user = forms.ModelChoiceField(
        queryset=User.objects.filter(is_active=True),
        to_field_name="username",
        required=False,
        widget=forms.TextInput,
        error_messages={"invalid_choice": gettext_lazy("There is no such person.")},
    )
    group = forms.ModelChoiceField(
        queryset=Group.objects.order_by("name", "pk"),
        required=False,
        empty_label=gettext_lazy("All groups"),
    )
    tool = forms.ModelChoiceField(
        queryset=Capability.objects.all(),
        to_field_name="full_name",
        required=False,
        widget=forms.TextInput,
        error_messages={"invalid_choice": gettext_lazy("There is no such tool.")},
    )
    measure = forms.ChoiceField(choices=Quota.Measure.choices)
    soft = forms.IntegerField(required=False, min_value=0, max_value=MOST_LIMIT)
    hard = forms.IntegerField(required=False, min_value=0, max_value=MOST_LIMIT)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"

    def clean(self) -> dict[str, Any]:
        """Check that one person is named exactly where one is meant."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        is_of_one = data.get("whose") == "one"
        if is_of_one and not data.get("user") and "user" not in self.errors:
            self.add_error("user", _("Enter a user name."))
        if not is_of_one:
            data["user"] = None
        return data


@require_GET
@with_query
def use(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """Show calls, errors, times and tokens by tool; to admins by person, group and application,
    too."""
    kinds: list[By] = ["tool"] if query.mine else ["tool", "person", "group"]
    if not query.mine and Application.objects.exists():
        kinds.append("application")
    caller = query.frame.caller
    tables = [(kind, read_call_use(query.scope, kind)) for kind in kinds]
    prices = list_prices()
    price = price_of(query.model, prices)
    context: dict[str, object] = {
        "tables": [
            (kind, [(row, row.cost(price), row.cost_with_all(price)) for row in rows])
            for kind, rows in tables
        ],
        "price": price,
        "prices": [(entry.pattern, entry.pattern) for entry in prices],
        "quotas": own_quotas(caller) if query.mine and caller else [],
        "ever": True,
    }
    return render_insights(request, query, "use.html", context, tab=USE)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
@with_query
def quotas(request: PageRequest, query: InsightsQuery) -> HttpResponse:
    """List the quotas with today's use, and set one."""
    form = QuotaForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            set_quota(
                by=request.user,
                measure=data["measure"],
                soft=data["soft"],
                hard=data["hard"],
                user=data["user"],
                group=data["group"],
                capability=data["tool"],
                each_person=data["whose"] == "each",
            )
        except QuotaRefusedError as refused:
            form.add_error("hard", _(str(refused)))
        else:
            messages.success(request, _("The quota was set."))
            return redirect("insights-quotas")
    context = {"form": form, "uses": count_use(list(list_quotas()), user_id=None), "ever": True}
    status = 422 if form.errors else 200
    return render_insights(request, query, "quotas.html", context, tab=QUOTAS, status=status)


@admins_only
@require_POST
def remove_quota(request: PageRequest, pk: int) -> HttpResponse:
    """Delete a quota."""
    delete_quota(by=request.user, quota=get_object_or_404(list_quotas(), pk=pk))
    messages.success(request, _("The quota was deleted."))
    return redirect("insights-quotas")


# The page of prices of models.


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
