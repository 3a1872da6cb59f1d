"""Page action that changes what an integration's program may reach."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from acl.web.frame import PageRequest
from acl.web.staff_pages import admins_only
from catalog.models import Integration
from catalog.servers.cell.allowed_hosts import MOST_CHARACTERS, NotAHostError
from catalog.servers.program_network import allow_host, set_network
from marketplace.integrations.pages.overview import show


class NetworkForm(forms.Form):
    """All hosts, one on each line, or one more that was refused."""

    hosts = forms.CharField(required=False, max_length=20_000)
    whole_network = forms.CharField(required=False, max_length=2)
    allow = forms.CharField(required=False, max_length=MOST_CHARACTERS)


@admins_only
@require_POST
def network(request: PageRequest, slug: str) -> HttpResponse:
    """Change the allowed hosts, or add one that the program was refused."""
    row = get_object_or_404(Integration, slug=slug, transport="stdio")
    form = NetworkForm(request.POST)
    if form.is_valid():
        try:
            _change(request, row, form)
        except NotAHostError as problem:
            form.add_error("hosts", str(problem))
        else:
            done = _("Saved. The program is restarted with it before its next call.")
            messages.success(request, done)
            return redirect(f"{reverse('integration', args=[slug])}#network")
    return show(request, slug, {"network_form": form}, status=422)


def _change(request: PageRequest, row: Integration, form: NetworkForm) -> None:
    data = form.cleaned_data
    if data["allow"]:
        allow_host(by=request.user, integration=row, host=data["allow"])
        return
    whole = data["whole_network"] == "on"
    set_network(by=request.user, integration=row, whole=whole, hosts=data["hosts"].split())
