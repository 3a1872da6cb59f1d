"""The page of chat models, for admins."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from discovery.advice.policies import AdviceRefusedError, list_policies, remove_policy, set_policy
from discovery.advice.questions import ORDER, PLAN
from discovery.chats.models import (
    MOST_OF_KEY,
    ModelRefusedError,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.chats.providers.registry import APIS
from discovery.models import AdvicePolicy, ChatModel
from discovery.models.chat import LONGEST, LONGEST_ADDRESS, LONGEST_ID, LONGEST_NAME, SHORTEST


class ChatModelForm(forms.Form):
    """A chat model. The key is never shown again."""

    name = forms.CharField(max_length=LONGEST_NAME)
    provider = forms.ChoiceField(choices=[(name, api.LABEL) for name, api in APIS.items()])
    model_id = forms.CharField(max_length=LONGEST_ID)
    address = forms.CharField(max_length=LONGEST_ADDRESS, required=False)
    key = forms.CharField(
        max_length=MOST_OF_KEY,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )
    groups = forms.ModelMultipleChoiceField(
        Group.objects.order_by("name"), required=False, widget=forms.SelectMultiple
    )
    daily_tokens = forms.IntegerField(min_value=1, max_value=10**12, initial=200_000)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for field in self.fields.values():
            field.widget.attrs["class"] = "input"


class AdviceForm(forms.Form):
    """Advice of a chat model on choosing tools."""

    model = forms.ModelChoiceField(ChatModel.objects.order_by("name"), empty_label=None)
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), required=False, empty_label=gettext_lazy("Everyone")
    )
    plans = forms.BooleanField(required=False, initial=True)
    orders = forms.BooleanField(required=False, initial=True)
    milliseconds = forms.IntegerField(min_value=SHORTEST, max_value=LONGEST, initial=2_000)
    daily_tokens = forms.IntegerField(min_value=1, max_value=10**12, initial=500_000)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name in ("model", "group", "milliseconds", "daily_tokens"):
            self.fields[name].widget.attrs["class"] = "input"


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def chat_models(request: PageRequest) -> HttpResponse:
    """List the chat models and their advice, and set one."""
    form, advice = ChatModelForm(), AdviceForm()
    if request.method == "POST" and "plans_or_orders" in request.POST:
        advice = AdviceForm(request.POST)
        if advice.is_valid():
            try:
                set_policy(by=request.user, **advice.cleaned_data)
            except AdviceRefusedError as refused:
                advice.add_error(refused.field, str(refused))
            else:
                messages.success(request, _("The advice was saved."))
                return redirect("chat-models")
    elif request.method == "POST":
        form = ChatModelForm(request.POST)
    if form.is_bound and form.is_valid():
        try:
            model = set_model(by=request.user, values=WantedModel(**form.cleaned_data))
        except ModelRefusedError as refused:
            form.add_error(refused.field, str(refused))
        else:
            messages.success(request, _("“%(title)s” was saved.") % {"title": model.name})
            return redirect("chat-models")
    context = {
        "form": form,
        "models": ChatModel.objects.prefetch_related("groups"),
        "has_groups": Group.objects.exists(),
        "advice": advice,
        "policies": list_policies(),
        "advice_is_on": settings.PEGBOARD_ADVICE,
        "sent": (PLAN, ORDER),
    }
    status = 422 if form.errors or advice.errors else 200
    frame = frame_of(request)
    return render_page(request, "chats/models.html", context, frame=frame, status=status)


@admins_only
@require_POST
def remove_chat_model(request: PageRequest, pk: int) -> HttpResponse:
    """Delete a chat model with its key."""
    delete_model(by=request.user, model=get_object_or_404(ChatModel, pk=pk))
    messages.success(request, _("The model was deleted."))
    return redirect("chat-models")


@admins_only
@require_POST
def remove_advice(request: PageRequest, pk: int) -> HttpResponse:
    """Remove a group's advice: its messages go to no model any more."""
    remove_policy(by=request.user, policy=get_object_or_404(AdvicePolicy, pk=pk))
    messages.success(request, _("The advice was removed."))
    return redirect("chat-models")
