"""The page of chat models, for admins."""

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, frame_of, render_page
from acl.web.staff_pages import admins_only
from discovery.chats.models import (
    MOST_OF_KEY,
    ModelRefusedError,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.chats.providers.registry import APIS
from discovery.models import ChatModel
from discovery.models.chat import LONGEST_ADDRESS, LONGEST_ID, LONGEST_NAME


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


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def chat_models(request: PageRequest) -> HttpResponse:
    """List the chat models, and set one."""
    form = ChatModelForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
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
    }
    status = 422 if form.errors else 200
    frame = frame_of(request)
    return render_page(request, "chats/models.html", context, frame=frame, status=status)


@admins_only
@require_POST
def remove_chat_model(request: PageRequest, pk: int) -> HttpResponse:
    """Delete a chat model with its key."""
    delete_model(by=request.user, model=get_object_or_404(ChatModel, pk=pk))
    messages.success(request, _("The model was deleted."))
    return redirect("chat-models")
