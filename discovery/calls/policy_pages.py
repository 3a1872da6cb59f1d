"""Page of the groups' policies on their calls, for admins."""

from django import forms
from django.contrib import messages
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from acl.web.frame import PageRequest, admins_only, frame_of, render_page
from catalog.access.pages.access_forms import SearchForm
from discovery.calls._policy import longest_days, set_policy
from discovery.models.call import Content
from discovery.models.call_policy import LONGEST_DAYS

PAGE_SIZE = 50


class PolicyForm(forms.Form):
    """Form of a group's policy."""

    content = forms.TypedChoiceField(choices=Content.choices, coerce=int)
    days = forms.IntegerField(required=False, min_value=1, max_value=LONGEST_DAYS)


@admins_only
@require_GET
def call_policies(request: PageRequest) -> HttpResponse:
    """List the groups with their policies."""
    return _page(request)


@admins_only
@require_POST
def set_call_policy(request: PageRequest, pk: int) -> HttpResponse:
    """Set the policy of a group."""
    group, form = get_object_or_404(Group, pk=pk), PolicyForm(request.POST)
    if not form.is_valid():
        return _page(request, group=group, form=form)
    set_policy(by=request.user, group=group, **form.cleaned_data)
    messages.success(request, _("%(group)s: saved.") % {"group": group.name})
    return redirect("call-policies")


def _page(
    request: PageRequest, *, group: Group | None = None, form: PolicyForm | None = None
) -> HttpResponse:
    search = SearchForm(request.GET)
    groups = Group.objects.select_related("call_policy").order_by("name", "pk")
    groups = groups.filter(pk=group.pk) if group else groups.filter(name__icontains=search.words())
    count = groups.count()
    pages = max(1, -(-count // PAGE_SIZE))
    page = min(search.page_number(), pages)
    rows = [
        (policy_group, getattr(policy_group, "call_policy", None))
        for policy_group in groups[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
    ]
    context = {
        "form": search,
        "wrong": form,
        "rows": rows,
        "found": {"count": count, "page": page, "pages": pages},
        "contents": Content.choices,
        "longest": longest_days(),
    }
    template = "calls/policies.html" + ("#found" if request.htmx else "")
    status = 422 if form else 200
    return render_page(request, template, context, frame=frame_of(request), status=status)
