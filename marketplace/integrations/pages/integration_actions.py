"""Actions on an integration: check, enable, update, roll back, repair, uninstall."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, posted, render_page
from catalog.access.grants import set_application_executes, set_requestable
from catalog.models import Capability, Integration
from catalog.registration.admin_corrections import WORDS, ToolWordsRefused, change_tool
from catalog.servers.client.launch_rules import CommandNotAllowedError
from catalog.servers.net.address_check import EndpointNotAllowedError
from discovery.calls.quotas import MOST_A_MINUTE, set_call_limit
from discovery.insights.use import list_people_using
from marketplace.installs import integration_management
from marketplace.installs.requests import (
    AlreadyInstalledError,
    NotPermittedError,
    TargetChangedError,
    retry_install,
)
from marketplace.integrations.server_health import check_now, health_of
from marketplace.listings.reviews import review_of
from marketplace.models import Installation

_REFUSED = (
    integration_management.NotReadyError,
    NotPermittedError,
    AlreadyInstalledError,
    CommandNotAllowedError,
    EndpointNotAllowedError,
    TargetChangedError,
)


class UninstallForm(forms.Form):
    """Confirmation by typing the integration's name."""

    name = forms.CharField(
        max_length=48, error_messages={"required": gettext_lazy("Type its name to confirm.")}
    )

    def __init__(self, *args: Any, integration: Integration, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._slug = integration.slug

    def clean_name(self) -> str:
        """Accept only the exact name."""
        name = str(self.cleaned_data["name"])
        if name != self._slug:
            raise forms.ValidationError(_("The name does not match. Type it exactly as shown."))
        return name


@admins_only
@require_POST
def check(request: PageRequest, slug: str) -> HttpResponse:
    """Request a health check; the page shows the result."""
    row = get_object_or_404(Integration, slug=slug)
    newest = health_of(row).newest
    if not check_now(by=request.user, integration=row):
        messages.warning(request, _("The check could not be queued. Is Redis running?"))
        return redirect("integration", slug)
    return redirect(f"{reverse('integration', args=[slug])}?since={newest}#health")


@admins_only
@require_POST
def switch(request: PageRequest, slug: str) -> HttpResponse:
    """Enable or disable the integration; one in use only after a look at who uses it."""
    row = get_object_or_404(Integration, slug=slug)
    on = request.POST.get("enabled") == "on"
    if not on and row.enabled and request.POST.get("confirmed") != "on":
        people = list_people_using(row.pk)
        if people:
            context = {"integration": row, "people_using": people}
            frame = frame_of(request)
            return render_page(request, "integrations/switch_off.html", context, frame=frame)
    try:
        integration_management.set_enabled(by=request.user, integration=row, enabled=on)
    except integration_management.NotReadyError as problem:
        messages.warning(request, str(problem))
    else:
        done = (
            _("%(title)s was switched on.")
            if on
            else _("%(title)s was switched off. Nobody can use it.")
        )
        messages.success(request, done % {"title": row.title})
    return redirect("integration", slug)


@admins_only
@require_POST
def call_limit(request: PageRequest, slug: str) -> HttpResponse:
    """Limit its calls in a minute; an empty field is no limit."""
    row, text = get_object_or_404(Integration, slug=slug), request.POST.get("calls_per_minute", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if (text.strip() and not number) or number > MOST_A_MINUTE:
        messages.warning(request, _("Enter a whole number of calls, or nothing for no limit."))
    elif set_call_limit(by=request.user, integration=row, a_minute=number):
        messages.success(request, _("The limit of calls is changed."))
    return redirect(f"{reverse('integration', args=[slug])}#access")


class ToolForm(forms.Form):
    """An admin's settings of one tool, by their columns."""

    ai_access = forms.ChoiceField(choices=Capability.AIAccess.choices)
    side_effect = forms.ChoiceField(choices=Capability.SideEffect.choices)
    name = forms.CharField(required=False)
    title = forms.CharField(required=False)
    description = forms.CharField(required=False, strip=False)


@admins_only
@require_POST
def tool(request: PageRequest, slug: str, full_name: str) -> HttpResponse:
    """Switch a tool off or on, have its calls approved, set its effect, or change its words."""
    row = get_object_or_404(Capability, integration__slug=slug, full_name=full_name)
    form = ToolForm(request.POST)
    if not form.is_valid():
        raise Http404
    values = form.cleaned_data
    if values["side_effect"] == row.side_effect:  # only what was changed is the admin's word
        del values["side_effect"]
    # Tools without a server keep their names, so that the form has none.
    unnamed = set() if row.integration.transport else {"name"}
    for word in (WORDS.keys() - request.POST.keys()) | unnamed:
        del values[word]
    try:
        row = change_tool(by=request.user, pk=row.pk, values=values)
    except ToolWordsRefused as refused:
        messages.warning(request, f"{row.display_name}: {refused}")
    else:
        done = _("%(name)s was changed for everyone.") % {"name": row.display_name}
        messages.success(request, done)
    return redirect(f"{reverse('integration', args=[slug])}#tools-head")


@admins_only
@require_POST
def application_executes(request: PageRequest, slug: str) -> HttpResponse:
    """Say that the chat application carries out its calls, or that it does not."""
    row = get_object_or_404(Integration, slug=slug)
    on = request.POST.get("application_executes") == "on"
    set_application_executes(by=request.user, integration=row, executes=on)
    done = (
        _("Its tools count as tools that your application carries out now.")
        if on
        else _("Its tools are set aside now, until an application carries them out.")
    )
    messages.success(request, done)
    return redirect("integration", slug)


@admins_only
@require_POST
def requestable(request: PageRequest, slug: str) -> HttpResponse:
    """Allow or forbid everyone to ask for its tools by name."""
    row = get_object_or_404(Integration, slug=slug)
    on = request.POST.get("requestable") == "on"
    set_requestable(by=request.user, integration=row, requestable=on)
    done = (
        _("Everyone can see the names of its tools and ask for them now.")
        if on
        else _("The names of its tools are hidden from people without access now.")
    )
    messages.success(request, done)
    return redirect(f"{reverse('integration', args=[slug])}#access")


@admins_only
@require_POST
def retry(request: PageRequest, slug: str) -> HttpResponse:
    """Retry the failed installation."""
    row = get_object_or_404(Integration, slug=slug)
    last = Installation.objects.filter(integration=row).first()
    try:
        is_restarted = last is not None and retry_install(by=request.user, installation=last)
    except NotPermittedError:
        messages.warning(request, _("You are not allowed to start programs on this machine."))
        return redirect("integration", slug)
    if is_restarted:
        messages.success(request, _("The installation has restarted. See its progress below."))
    else:
        messages.warning(request, _("There is no installation to restart."))
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def update(request: PageRequest, slug: str) -> HttpResponse:
    """Show what the update changes, or start it."""
    row = get_object_or_404(Integration, slug=slug)
    pending = integration_management.pending_update(row)
    problem = ""
    if request.method == "POST":
        try:
            integration_management.start_update(
                by=request.user,
                integration=row,
                confirmed=request.POST.get("confirmed", ""),
                idempotency_key=request.POST.get("key", "")[:255],
            )
        except _REFUSED as refusal:
            problem = str(refusal) or _("You are not allowed to start programs on this machine.")
        else:
            messages.success(request, _("The update has started. See its progress below."))
            return redirect("integration", slug)
    context = {
        "integration": row,
        "update": pending,
        "review": review_of(pending.listing) if pending else None,
        "digest": pending.digest if pending else "",
        "key": str(uuid4()),  # pressing the button twice is one update
        "problem": problem,
    }
    status = 422 if problem else 200
    return render_page(
        request, "integrations/update.html", context, frame=frame_of(request), status=status
    )


@admins_only
@require_POST
def roll_back(request: PageRequest, slug: str) -> HttpResponse:
    """Roll back the last update."""
    row = get_object_or_404(Integration, slug=slug)
    try:
        integration_management.roll_back(by=request.user, integration=row)
    except _REFUSED as problem:
        messages.warning(
            request, str(problem) or _("You are not allowed to start programs on this machine.")
        )
    else:
        messages.success(request, _("The rollback has started. See its progress below."))
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def repair(request: PageRequest, slug: str) -> HttpResponse:
    """Ask for confirmation, or start the repair."""
    row = get_object_or_404(Integration, slug=slug)
    if request.method != "POST":
        context = {"integration": row, "now": integration_management.current_installation(row)}
        return render_page(request, "integrations/repair.html", context, frame=frame_of(request))
    try:
        integration_management.repair(by=request.user, integration=row)
    except _REFUSED as problem:
        messages.warning(
            request, str(problem) or _("You are not allowed to start programs on this machine.")
        )
    else:
        messages.success(request, _("The repair has started. See its progress below."))
    return redirect("integration", slug)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def uninstall(request: PageRequest, slug: str) -> HttpResponse:
    """Ask for the integration's name, then uninstall it."""
    row = get_object_or_404(Integration, slug=slug)
    form = UninstallForm(posted(request), integration=row)
    if form.is_bound and form.is_valid():
        integration_management.uninstall(by=request.user, integration=row)
        messages.success(request, _("%(title)s was uninstalled.") % {"title": row.title})
        return redirect("integrations")
    context = {
        "integration": row,
        "form": form,
        "tools": row.capabilities.count(),
        "secrets": row.secrets.count(),
    }
    status = 422 if form.errors else 200
    return render_page(
        request, "integrations/uninstall.html", context, frame=frame_of(request), status=status
    )
