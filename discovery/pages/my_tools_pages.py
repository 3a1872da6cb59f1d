"""Pages of My tools: the list, one tool, and access requests."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_http_methods

from acl.models import AccessRequest
from acl.pages.frame import PageRequest, frame_of, render_page
from acl.pages.markdown import safe_html
from acl.rights.access_requests import TooManyRequests, request_access
from catalog.access.my_tools import find_my_tool, list_my_tools
from discovery.calls.shown_parameters import list_parameters
from discovery.pages.tool_forms import RequestForm, ToolsForm

LONGEST_WISH = 200  # of a text prefilled by the URL


@login_required
@require_GET
def my_tools(request: PageRequest) -> HttpResponse:
    """Show the tools that the person may use, by category."""
    frame = frame_of(request)
    form = ToolsForm(request.GET)
    if frame.caller is None:
        return render_page(request, "no_group.html", {"title": "My tools"}, frame=frame)
    found = list_my_tools(caller=frame.caller, wanted=form.wanted())
    template = "tools/my_tools.html" + ("#found" if request.htmx else "")
    return render_page(request, template, {"form": form, "found": found}, frame=frame)


@login_required
@require_GET
def tool(request: PageRequest, full_name: str) -> HttpResponse:
    """Show one capability, as a page or in the panel beside the list."""
    frame = frame_of(request)
    mine = find_my_tool(caller=frame.caller, full_name=full_name) if frame.caller else None
    if mine is None:
        raise Http404
    capability = mine.capability
    context = {
        "mine": mine,
        "parameters": list_parameters(capability.input_schema),
        "content": safe_html(capability.content),
    }
    template = "tools/tool.html" + ("#detail" if request.htmx else "")
    return render_page(request, template, context, frame=frame)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def requests(request: PageRequest) -> HttpResponse:
    """Show the person's access requests, and a form for another."""
    frame = frame_of(request)
    if frame.caller is None:
        context = {"title": "Ask for access"}
        return render_page(request, "no_group.html", context, frame=frame)
    # The marketplace links here with the name of the missing tool.
    wish = request.GET.get("wish", "")[:LONGEST_WISH]
    form = RequestForm(request.POST or None, initial={"wish": wish})
    if request.method == "POST" and form.is_valid():
        try:
            request_access(by=request.user, caller=frame.caller, wish=form.cleaned_data["wish"])
        except TooManyRequests as problem:
            form.add_error("wish", str(problem))
        else:
            messages.success(request, "Your request is stored. An admin will look at it.")
            return redirect("requests")
    mine = AccessRequest.objects.select_related("group", "answered_by")
    mine = mine.filter(user=request.user)[:50]
    asked = {"form": form, "requests": mine}
    status = 422 if form.errors else 200
    return render_page(request, "tools/requests.html", asked, frame=frame, status=status)
