"""Pages of channels: a person's own in the account, and those of groups for admins."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from acl.platform.mail import delivers_mail
from acl.web.frame import TABS, PageRequest, admins_only, frame_of, posted, render_page
from marketplace.models import NotificationChannel
from marketplace.notifications.channels import (
    ChannelRefused,
    NewChannel,
    Topic,
    add_channel,
    admin_channels,
    own_channels,
    remove_channel,
    send_test,
    set_paused,
)
from marketplace.notifications.kinds.registry import KINDS, MAIL

LOGGED = 50
_ADMIN_TOPICS = [Topic.APPROVALS, Topic.REQUESTS, Topic.FAILURES, Topic.ALERTS, Topic.REVIEWS]


class ChannelForm(forms.Form):
    """A new channel."""

    kind = forms.ChoiceField(choices=[(name, kind.LABEL) for name, kind in KINDS.items()])
    address = forms.CharField(required=False, max_length=2_000)
    topics = forms.MultipleChoiceField(
        choices=[],
        error_messages={"required": gettext_lazy("Choose at least one kind of event.")},
    )

    def __init__(self, *args: Any, topics: list[NotificationChannel.Topic], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["topics"].choices = [(topic.value, topic.label) for topic in topics]  # type: ignore[attr-defined]


class GroupChannelForm(ChannelForm):
    """A new channel of a group, or of everyone."""

    group = forms.ModelChoiceField(required=False, queryset=Group.objects.order_by("name", "pk"))
    mail_to = forms.EmailField(required=False, max_length=254)
    with_arguments = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class ChannelPlace:
    """The pages of one's own channels, or those of the groups' channels."""

    list_url: str
    one_url: str
    is_admin: bool

    def channels(self, request: PageRequest) -> "QuerySet[NotificationChannel]":
        """Return the channels that the page is about."""
        return admin_channels() if self.is_admin else own_channels(request.user)

    def topics(self, request: PageRequest) -> list[NotificationChannel.Topic]:
        """Return what the person may be told about."""
        if self.is_admin:
            return _ADMIN_TOPICS
        return [*_ADMIN_TOPICS, Topic.ANSWERS] if request.user.is_staff else [Topic.ANSWERS]


MINE = ChannelPlace("notifications", "notification-channel", is_admin=False)
OF_GROUPS = ChannelPlace("access-notifications", "access-notification-channel", is_admin=True)


@sensitive_post_parameters("address")
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def mine(request: PageRequest) -> HttpResponse:
    """Show one's own channels, or add one."""
    return _channels(request, MINE)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def my_channel(request: PageRequest, pk: int) -> HttpResponse:
    """Show the log of a channel of one's own, or change the channel."""
    return _channel(request, MINE, pk)


@sensitive_post_parameters("address")
@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def of_groups(request: PageRequest) -> HttpResponse:
    """Show the channels of groups, or add one."""
    return _channels(request, OF_GROUPS)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def group_channel(request: PageRequest, pk: int) -> HttpResponse:
    """Show the log of a group's channel, or change the channel."""
    return _channel(request, OF_GROUPS, pk)


def _channels(request: PageRequest, place: ChannelPlace) -> HttpResponse:
    kind = GroupChannelForm if place.is_admin else ChannelForm
    form = kind(posted(request), topics=place.topics(request))
    added, secret = None, ""
    if form.is_bound and form.is_valid():
        try:
            added, secret = add_channel(by=request.user, values=_wanted(request, place, form))
        except ChannelRefused as refused:
            form.add_error(refused.field, str(refused))
        else:
            if not secret:
                messages.success(request, _("The channel was added. Send a test to try it."))
                return redirect(place.one_url, added.pk)
            form = kind(topics=place.topics(request))
    context = {
        "place": place,
        "channels": place.channels(request),
        "form": form,
        "kinds": [
            (name, kind.LABEL) for name, kind in KINDS.items() if name != MAIL or delivers_mail()
        ],
        "topics": place.topics(request),
        "delivers_mail": delivers_mail(),
        "groups": Group.objects.order_by("name", "pk") if place.is_admin else (),
        "added": added,
        "secret": secret,
        **_tabs(place),
    }
    status = 422 if form.errors else 200
    page = render_page(
        request, "notifications/channels.html", context, frame=frame_of(request), status=status
    )
    if secret:
        add_never_cache_headers(page)
    return page


def _wanted(request: PageRequest, place: ChannelPlace, form: ChannelForm) -> NewChannel:
    data = form.cleaned_data
    return NewChannel(
        kind=data["kind"],
        topics=data["topics"],
        origin=request.build_absolute_uri("/")[:300],
        owner=None if place.is_admin else request.user,
        group=data.get("group"),
        address=data["address"],
        mail_to=data.get("mail_to", ""),
        with_arguments=bool(data.get("with_arguments")),
    )


def _channel(request: PageRequest, place: ChannelPlace, pk: int) -> HttpResponse:
    row = get_object_or_404(place.channels(request), pk=pk)
    action = request.POST.get("action", "")
    if request.method == "POST":
        return _act(request, place, row, action)
    context = {
        "place": place,
        "channel": row,
        "deliveries": row.deliveries.order_by("-created_at", "-pk")[:LOGGED],
        **_tabs(place),
    }
    return render_page(request, "notifications/channel.html", context, frame=frame_of(request))


def _act(
    request: PageRequest, place: ChannelPlace, row: NotificationChannel, action: str
) -> HttpResponse:
    match action:
        case "test":
            send_test(channel=row)
            messages.success(request, _("A test is queued. The log shows what becomes of it."))
        case "pause" | "resume":
            set_paused(by=request.user, channel=row, paused=action == "pause")
        case "remove":
            remove_channel(by=request.user, channel=row)
            messages.success(request, _("The channel was removed."))
            return redirect(place.list_url)
    return redirect(place.one_url, row.pk)


def _tabs(place: ChannelPlace) -> dict[str, object]:
    return {"tabs": TABS, "tab": "notifications"} if place.is_admin else {}
