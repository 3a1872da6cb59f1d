"""Pages of chats with a model. A chat is its owner's alone; for all others it does not exist."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, frame_of, render_page
from discovery.chats.chats import (
    MOST_OF_MESSAGE,
    ChatRefusedError,
    begin_chat,
    cancel_message,
    chats_of,
    delete_chat,
    send_message,
    tokens_used,
)
from discovery.chats.view import show_messages, version_of
from discovery.chats.work import go_on
from discovery.models import Chat, ChatMessage, ChatModel

MOST_LISTED = 50


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
