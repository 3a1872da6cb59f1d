"""Pages of chat applications, for admins: all of them, one with its keys and figures, its form."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from acl.models import ApiKey, Application
from acl.models.application import LONGEST_CONVERSATION, LONGEST_NAME
from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.models import Integration
from discovery.answer.formats.registry import FORMATS
from discovery.applications.figures import (
    ApplicationUse,
    find_conversation,
    list_conversations,
    list_steps,
    use_of_applications,
)
from discovery.applications.service import (
    CHOICES,
    LARGEST_LIMIT,
    LARGEST_WINDOW,
    LIMITS,
    SMALLEST_WINDOW,
    ApplicationFields,
    ApplicationRefused,
    assign_key,
    change_application,
    create_application,
    delete_application,
    integrations_of,
    keys_without_application,
    list_applications,
)

_AS_ASKED = ("", gettext_lazy("As each request says"))
YES, NO = "yes", "no"


_LABELS = {
    "selected": gettext_lazy("selected: the tools that match"),
    "direct": gettext_lazy("direct: all tools"),
    "compact_direct": gettext_lazy("compact_direct: all tools, in short"),
    "discovery": gettext_lazy("discovery: a tool that finds others"),
    "auto": gettext_lazy("auto: what fits the window"),
    "fail_open": gettext_lazy("fail_open: send all tools"),
    "fail_closed": gettext_lazy("fail_closed: send none"),
    "none": gettext_lazy("none"),
}


def _choices(values: tuple[str, ...]) -> list[tuple[str, Any]]:
    names = {name: module.LABEL for name, module in FORMATS.items()} | _LABELS
    return [_AS_ASKED, *((value, names.get(value, value)) for value in values)]


def _limit() -> forms.IntegerField:
    return forms.IntegerField(required=False, min_value=1, max_value=LARGEST_LIMIT)


class ApplicationForm(forms.Form):
    """Form of an application: what it is, what it reaches, its defaults and limits."""

    name = forms.CharField(max_length=LONGEST_NAME)
    description = forms.CharField(required=False, max_length=300)
    group = forms.ModelChoiceField(
        Group.objects.order_by("name"), required=False, empty_label=gettext_lazy("Admins only")
    )
    reach = forms.ChoiceField(choices=[("all", ""), ("chosen", "")], initial="all")
    integrations = forms.ModelMultipleChoiceField(
        Integration.objects.order_by("title", "slug"), required=False
    )
    mode = forms.ChoiceField(choices=_choices(CHOICES["mode"]), required=False)
    format = forms.ChoiceField(choices=_choices(CHOICES["format"]), required=False)
    context_window = forms.IntegerField(
        required=False, min_value=SMALLEST_WINDOW, max_value=LARGEST_WINDOW
    )
    client_executes = forms.ChoiceField(
        choices=[_AS_ASKED, (YES, gettext_lazy("Yes")), (NO, gettext_lazy("No"))], required=False
    )
    failure_policy = forms.ChoiceField(choices=_choices(CHOICES["failure_policy"]), required=False)
    calls_a_minute = _limit()
    calls_a_day = _limit()
    tokens_a_day = _limit()
    cpu_a_minute = _limit()
    alert_percent = forms.IntegerField(required=False, min_value=0, max_value=100)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            if name not in {"reach", "integrations"}:
                field.widget.attrs["class"] = "input"

    @staticmethod
    def values_of(application: Application) -> dict[str, Any]:
        """Return the values that the form of a stored application begins with."""
        defaults = dict(application.defaults)
        executes = defaults.pop("client_executes", None)
        below = application.alert_below
        return {
            **defaults,
            "client_executes": "" if executes is None else YES if executes else NO,
            "name": application.name,
            "description": application.description,
            "group": application.group_id,
            "reach": "chosen" if application.integrations else "all",
            "integrations": application.integrations,
            **{limit: getattr(application, limit) for limit in LIMITS},
            "alert_percent": None if below is None else round(below * 100),
        }

    def application(self) -> ApplicationFields:
        """Return the fields as the service takes them."""
        data = self.cleaned_data
        defaults = {name: data[name] for name in (*CHOICES, "context_window") if data[name]}
        if data["client_executes"]:
            defaults["client_executes"] = data["client_executes"] == YES
        percent = data["alert_percent"]
        is_all = data["reach"] == "all"
        return ApplicationFields(
            name=data["name"],
            description=data["description"],
            group=data["group"],
            defaults=defaults,
            integrations=() if is_all else tuple(data["integrations"]),
            all_integrations=is_all,
            **{limit: data[limit] for limit in LIMITS},
            alert_below=None if percent is None else percent / 100,
        )


@admins_only
@require_GET
def applications(request: PageRequest) -> HttpResponse:
    """List all applications with their use of the last 30 days."""
    rows = list(list_applications())
    uses = use_of_applications(rows)
    context = {"rows": [(row, uses.get(row.pk, ApplicationUse())) for row in rows]}
    return render_page(request, "applications/list.html", context, frame=frame_of(request))


@admins_only
@require_GET
def application(request: PageRequest, pk: int) -> HttpResponse:
    """Show an application: its figures, keys, limits, what it reaches, and its conversations."""
    row = get_object_or_404(list_applications(), pk=pk)
    names = integrations_of([row])
    context = {
        "application": row,
        "use": use_of_applications([row]).get(pk, ApplicationUse()),
        "reached": [names[key] for key in row.integrations if key in names],
        "keys": row.keys.filter(revoked_at=None).select_related("owner").order_by("name", "pk"),
        "free_keys": list(keys_without_application()[:200]),
        "conversations": list_conversations(row),
        "defaults": sorted(row.defaults.items()),
    }
    return render_page(request, "applications/one.html", context, frame=frame_of(request))


@admins_only
@require_GET
def conversation(request: PageRequest, pk: int) -> HttpResponse:
    """Show the turns and calls of a conversation, without their contents."""
    row = get_object_or_404(Application, pk=pk)
    name = request.GET.get("name", "")[:LONGEST_CONVERSATION]
    if not name or (use := find_conversation(row, name)) is None:
        raise Http404
    context = {"application": row, "use": use, "steps": list_steps(row, use.conversation)}
    return render_page(request, "applications/conversation.html", context, frame=frame_of(request))


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def new_application(request: PageRequest) -> HttpResponse:
    """Show the form, or create the application."""
    return _edit(request, None)


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def edit_application(request: PageRequest, pk: int) -> HttpResponse:
    """Show the form with what is stored, or change the application."""
    return _edit(request, get_object_or_404(Application, pk=pk))


def _edit(request: PageRequest, row: Application | None) -> HttpResponse:
    data = request.POST if request.method == "POST" else None
    form = ApplicationForm(data, initial=ApplicationForm.values_of(row) if row else None)
    if form.is_bound and form.is_valid():
        fields = form.application()
        try:
            if row is None:
                row = create_application(by=request.user, fields=fields)
            else:
                change_application(by=request.user, application=row, fields=fields)
        except ApplicationRefused as refused:
            field = "alert_percent" if refused.field == "alert_below" else refused.field
            form.add_error(field if field in form.fields else None, str(refused))
        else:
            messages.success(request, _("%(name)s was saved.") % {"name": fields.name})
            return redirect("application", row.pk)
    chosen = {str(pk) for pk in form["integrations"].value() or ()}
    context = {"application": row, "form": form, "chosen": chosen}
    return render_page(
        request,
        "applications/form.html",
        context,
        frame=frame_of(request),
        status=422 if form.errors else 200,
    )


@admins_only
@require_http_methods(["GET", "HEAD", "POST"])
def remove_application(request: PageRequest, pk: int) -> HttpResponse:
    """Ask for confirmation, then delete the application and revoke its keys."""
    row = get_object_or_404(list_applications(), pk=pk)
    if request.method == "POST":
        delete_application(by=request.user, application=row)
        messages.success(
            request, _("%(name)s was deleted, and its keys were revoked.") % {"name": row.name}
        )
        return redirect("applications")
    keys = row.keys.filter(revoked_at=None).order_by("name", "pk")
    context = {"application": row, "keys": keys}
    return render_page(request, "applications/delete.html", context, frame=frame_of(request))


@admins_only
@require_POST
def add_key(request: PageRequest, pk: int) -> HttpResponse:
    """Put a key that belongs to no application into this one."""
    row = get_object_or_404(Application, pk=pk)
    number = request.POST.get("key", "")
    key = get_object_or_404(
        keys_without_application(), pk=int(number) if number.isdecimal() and len(number) < 19 else 0
    )
    assign_key(by=request.user, key=key, application=row)
    names = {"key": key.name, "application": row.name}
    messages.success(request, _("%(key)s belongs to %(application)s now.") % names)
    return redirect("application", pk)


@admins_only
@require_POST
def release_key(request: PageRequest, pk: int, key: int) -> HttpResponse:
    """Take a key out of the application."""
    row = get_object_or_404(ApiKey, pk=key, application=pk, revoked_at=None)
    assign_key(by=request.user, key=row, application=None)
    messages.success(
        request,
        _("%(name)s belongs to no application now: nothing of this one limits it.")
        % {"name": row.name},
    )
    return redirect("application", pk)
