"""Pages of chats with a model, and of the models, for admins. A chat is its owner's alone."""

import re
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from acl.platform.strict_json import StrictJSONError, parse_json
from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from discovery.advice.policies import AdviceRefusedError, list_policies, remove_policy, set_policy
from discovery.advice.questions import ORDER, PLAN
from discovery.chats.apps import (
    AppRefusedError,
    call_from_app,
    find_call_with_app,
    read_app,
    shown_state,
    write_policy,
)
from discovery.chats.chats import (
    MOST_OF_MESSAGE,
    ChatRefusedError,
    begin_chat,
    cancel_message,
    chats_of,
    delete_chat,
    go_on,
    send_message,
    tokens_used,
)
from discovery.chats.models import (
    MOST_OF_KEY,
    ModelRefusedError,
    WantedModel,
    delete_model,
    set_model,
)
from discovery.chats.providers.registry import APIS
from discovery.chats.view import show_messages, version_of
from discovery.models import AdvicePolicy, Call, Chat, ChatMessage, ChatModel
from discovery.models.chat import LONGEST, LONGEST_ADDRESS, LONGEST_ID, LONGEST_NAME, SHORTEST

MOST_LISTED = 50
_ONCE = re.compile(r"[0-9a-f]{16,64}")


class ChatForm(forms.Form):
    """A message; `compare` asks for the comparison with all tools."""

    message = forms.CharField(max_length=MOST_OF_MESSAGE, strip=True)
    compare = forms.BooleanField(required=False)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def chats(request: PageRequest) -> HttpResponse:
    """List one's chats, and begin one."""
    frame = frame_of(request)
    models = list(ChatModel.objects.usable_by(request.user))
    form = ChatForm(request.POST if request.method == "POST" else None)
    problem, status = "", 200
    if request.method == "POST" and frame.caller is not None:
        model = next(
            (candidate for candidate in models if str(candidate.pk) == request.POST.get("model")),
            None,
        )
        try:
            if model is None:
                raise ChatRefusedError(_("Choose a model."))
            if form.is_valid():
                message = begin_chat(
                    by=request.user,
                    caller=frame.caller,
                    model=model,
                    text=form.cleaned_data["message"],
                    compare=form.cleaned_data["compare"],
                )
                return redirect("chat", message.chat_id)
            status = 422
        except ChatRefusedError as refused:
            problem, status = str(refused), refused.status
    first = ChatMessage.objects.filter(chat=OuterRef("pk")).order_by("pk").values("text")[:1]
    rows = chats_of(request.user).annotate(first=Subquery(first))
    context = {
        "models": models,
        "form": form,
        "problem": problem,
        "rows": list(rows.order_by("-created_at", "pk")[:MOST_LISTED]),
        "has_group": frame.caller is not None,
    }
    return render_page(request, "chats/list.html", context, frame=frame, status=status)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def chat(request: PageRequest, pk: UUID) -> HttpResponse:
    """Show a chat, and send a message in it."""
    row = _own(request, pk)
    form = ChatForm(request.POST if request.method == "POST" else None)
    problem, status = "", 200
    if request.method == "POST":
        try:
            if form.is_valid():
                data = form.cleaned_data
                text, compare = data["message"], data["compare"]
                send_message(by=request.user, chat=row, text=text, compare=compare)
                return redirect("chat", row.pk)
            status = 422
        except ChatRefusedError as refused:
            problem, status = str(refused), refused.status
    return _page(request, row, form=form, problem=problem, status=status)


@login_required
@require_POST
def chat_go_on(request: PageRequest, pk: UUID) -> HttpResponse:
    """Do what can be done for the chat's message, and show it; 204 where nothing has changed."""
    row = _own(request, pk)
    for message in row.messages.filter(state__in=ChatMessage.ACTIVE):
        go_on(message, by=request.user)
    if not request.htmx:
        return redirect("chat", row.pk)
    if request.POST.get("seen") == version_of(show_messages(row)):
        return HttpResponse(status=204)
    return _page(request, row)


@login_required
@require_POST
def chat_cancel(request: PageRequest, pk: UUID) -> HttpResponse:
    """Cancel the message that is under way."""
    row = _own(request, pk)
    for message in row.messages.filter(state__in=ChatMessage.ACTIVE):
        cancel_message(by=request.user, message=message)
    return redirect("chat", row.pk)


@login_required
@require_POST
def chat_delete(request: PageRequest, pk: UUID) -> HttpResponse:
    """Delete a chat of one's own."""
    delete_chat(by=request.user, chat=_own(request, pk))
    messages.success(request, _("The chat was deleted."))
    return redirect("chats")


# Apps of servers (MCP Apps) that show results of the chat's calls.


@login_required
@require_safe
@xframe_options_exempt  # the policy names Pegboard itself as the only frame
def chat_app(request: PageRequest, pk: UUID, call_pk: UUID) -> HttpResponse:
    """Answer with an app's page, for its sandboxed frame alone: opened as a page of its own, a
    stranger's HTML would stand at Pegboard's address."""
    places = {"Sec-Fetch-Dest": ("iframe", "empty"), "Sec-Fetch-Site": ("same-origin",)}
    if any(request.headers.get(name, usual[0]) not in usual for name, usual in places.items()):
        raise Http404
    row, call = _app_call(request, pk, call_pk)
    try:
        page = read_app(row, call)
    except AppRefusedError as refused:
        response = HttpResponse(str(refused), status=502, content_type="text/plain; charset=utf-8")
        response["Content-Security-Policy"] = write_policy(None, None)
        return response
    response = HttpResponse(page.html, content_type="text/html; charset=utf-8")
    response["Content-Security-Policy"] = page.policy
    response["Referrer-Policy"] = "no-referrer"
    response["X-DNS-Prefetch-Control"] = "off"
    response["Cache-Control"] = "no-store"
    return response


@login_required
@require_http_methods(["GET", "POST"])
def chat_app_call(request: PageRequest, pk: UUID, call_pk: UUID) -> JsonResponse:
    """Answer with the result that an app shows; a POST calls another tool of its server."""
    row, call = _app_call(request, pk, call_pk)
    if request.method == "GET":
        return JsonResponse(shown_state(call))
    try:
        body = parse_json(request.body)
        if not isinstance(body, dict) or not _ONCE.fullmatch(str(body.get("once"))):
            raise AppRefusedError("The request is not a call.")
        answer = call_from_app(
            chat=row,
            call=call,
            name=str(body.get("name")),
            arguments=body.get("arguments") or {},
            once=str(body["once"]),
        )
    except (AppRefusedError, StrictJSONError) as refused:
        answer = {"error": {"code": -32602, "message": str(refused)}}
    return JsonResponse(answer)


def _app_call(request: PageRequest, pk: UUID, call_pk: UUID) -> tuple[Chat, Call]:
    row = _own(request, pk)
    call = find_call_with_app(row, call_pk)
    if call is None:
        raise Http404
    return row, call


def _own(request: PageRequest, pk: UUID) -> Chat:
    return get_object_or_404(chats_of(request.user), pk=pk)


def _page(
    request: PageRequest,
    row: Chat,
    *,
    form: ChatForm | None = None,
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    messages_shown = show_messages(row)
    context = {
        "chat": row,
        "shown": messages_shown,
        "active": any(message.is_active for message in messages_shown),
        "version": version_of(messages_shown),
        "form": form or ChatForm(),
        "problem": problem,
        "used": tokens_used(row.model, request.user.pk) if row.model else 0,
    }
    template = "chats/chat.html" + ("#talk" if request.htmx else "")
    return render_page(request, template, context, frame=frame_of(request), status=status)


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
