"""Explain pages: why a person may use something, all they may use, and who may use it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import Group, User
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from acl.audit.recorder import record_look
from acl.models import Application, Space
from acl.rights.caller_lookup import Caller
from acl.rights.past import (
    MomentUnknown,
    parse_moment,
    past_moment,
    recorded_since,
    rights_at,
)
from acl.rights.precedence import LADDER
from acl.web.frame import PageRequest, admins_only, frame_of, part_of, render_access, render_page
from catalog.access._group_overview import build_tree, find_targets, walk_tree
from catalog.access.explanation import (
    Explanation,
    ExplanationStep,
    Holder,
    explain,
    explain_own,
    list_holders,
    list_reach,
)
from catalog.access.grant_suggestions import Fix, find_fix
from catalog.access.my_tools import find_my_tool
from catalog.access.pages.access_forms import ExplainForm, SearchForm, sentence, write_changes
from catalog.models import Capability
from catalog.readiness.readiness import MendLink

MOST_PEOPLE = 30


@dataclass(frozen=True, slots=True)
class Rung:
    """A possible source of the decision, in order of precedence."""

    label: str
    kind: str  # gate, space, grant, default, own
    steps: tuple[ExplanationStep, ...]
    decides: bool
    asked: bool  # nothing before it has decided


@dataclass(frozen=True, slots=True)
class HolderLink:
    """A holder, with the URL of the explanation."""

    holder: Holder
    address: str


@dataclass(frozen=True, slots=True)
class ExplainSubject:
    """The person asked about, and the choices of group and space."""

    person: User | None
    group: Group | None
    space: Space | None
    groups: Sequence[Group]
    own: frozenset[int]  # of the groups, those that the person belongs to
    application: Application | None = None
    applications: Sequence[Application] = ()

    @property
    def caller(self) -> Caller | None:
        if self.person is None or self.group is None:
            return None
        return Caller(
            self.person.pk,
            self.group.pk,
            self.space.pk if self.space else None,
            application_id=self.application.pk if self.application else None,
        )


@dataclass(frozen=True, slots=True)
class AskedMoment:
    """Moment that a page answers for: now without one, and where the problem says why not."""

    text: str
    moment: datetime | None = None
    problem: str = ""

    @property
    def since(self) -> datetime | None:
        """Return the first moment that can be known."""
        return recorded_since()

    @property
    def local(self) -> str:
        """Return it as the field takes it."""
        return f"{localtime(self.moment):%Y-%m-%dT%H:%M}" if self.moment else ""


def answers_at_its_moment(
    template: str, part: str
) -> Callable[[Callable[..., dict[str, object]]], Callable[..., HttpResponse]]:
    """Make a page of a function that returns its context, as at the moment of the query.

    Where something was not there then, it is shown as it is now, and the page says so.
    """

    def page_of(build: Callable[..., dict[str, object]]) -> Callable[..., HttpResponse]:
        @wraps(build)
        def page(request: PageRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            text = request.GET.get("at", "")
            question = AskedMoment(text)
            try:
                question = AskedMoment(text, parse_moment(text))
                with rights_at(question.moment):
                    context = build(request, *args, **kwargs)
            except MomentUnknown as unknown:
                question = AskedMoment(text, problem=str(unknown))
            except Http404:
                if question.moment is None:
                    raise
                question = AskedMoment(text, problem=_("It did not exist at this moment."))
            if question.problem:
                context = build(request, *args, **kwargs)
            shown_part = part_of(request, template, part)
            return render_access(
                request, shown_part, {**context, "question": question}, tab="explain"
            )

        return page

    return page_of


@admins_only
@require_GET
@answers_at_its_moment("explain.html", "told")
def explain_page(request: PageRequest) -> dict[str, object]:
    """Explain a decision for a person, group, space and capability."""
    form = ExplainForm(request.GET)
    who = _resolve_subject(form)
    data = form.cleaned_data
    name = data.get("capability", "")
    explanation = explain(caller=who.caller, full_name=name) if who.caller and name else None
    if explanation and who.person:
        _record_look(request, who.person, "explain")
    # No grant or rule adds to what an application may reach.
    can_be_fixed = past_moment() is None and who.application is None
    people = User.objects.filter(username__icontains=(data.get("user", ""))).order_by("username")
    return {
        "form": form,
        "who": who,
        "branches": list(walk_tree(build_tree(who.group))) if who.group else [],
        "people": list(people.values_list("username", flat=True)[:MOST_PEOPLE]),
        "names": [
            capability.full_name
            for capability in find_targets(name, integrations=False).capabilities
        ],
        "told": explanation,
        "mend": _mend_for_reader(request, who, explanation) if explanation else None,
        "rungs": rungs_of(explanation) if explanation else (),
        "fix": _fix(who, name, explanation) if explanation and can_be_fixed else None,
        "back": request.get_full_path(),
        "about": Capability.objects.filter(full_name=name).select_related("integration").first(),
        "nobody": bool(data.get("user")) and who.person is None,
        "nothing": bool(name) and who.caller is not None and explanation is None,
    }


@admins_only
@require_GET
@answers_at_its_moment("reach.html", "found")
def reach(request: PageRequest, pk: int) -> dict[str, object]:
    """List everything a person may use in a group and space, and why."""
    person = get_object_or_404(User, pk=pk)
    form = SearchForm(request.GET)
    who = _resolve_subject(ExplainForm({**request.GET.dict(), "user": person.username}))
    caller = who.caller
    reach_page = (
        list_reach(caller=caller, words=form.words(), page=form.page_number()) if caller else None
    )
    _record_look(request, person, "reach")
    return {
        "person": person,
        "who": who,
        "branches": list(walk_tree(build_tree(who.group))) if who.group else [],
        "form": form,
        "found": reach_page,
    }


@admins_only
@require_GET
@answers_at_its_moment("holders.html", "found")
def holders(request: PageRequest, full_name: str) -> dict[str, object]:
    """List who may use a capability, where, and why."""
    capability = get_object_or_404(
        Capability.objects.select_related("integration"), full_name=full_name
    )
    groups = list(Group.objects.order_by("name", "pk"))
    chosen = next((group for group in groups if str(group.pk) == request.GET.get("group")), None)
    page = SearchForm(request.GET).page_number()
    applications = list(Application.objects.order_by("name", "pk"))
    asker = request.GET.get("application")
    application = next((row for row in applications if str(row.pk) == asker), None)
    holder_page = list_holders(
        capability=capability,
        group=chosen,
        application=application.pk if application else None,
        page=page,
    )
    return {
        "applications": applications,
        "application": application,
        "capability": capability,
        "groups": groups,
        "chosen": chosen,
        "found": holder_page,
        "rows": _with_addresses(holder_page.items, capability),
    }


@login_required
@require_GET
def why(request: PageRequest, full_name: str) -> HttpResponse:
    """Explain to a person why they have a tool; 404 for tools they do not have."""
    frame = frame_of(request)
    mine = find_my_tool(caller=frame.caller, full_name=full_name) if frame.caller else None
    explanation = explain_own(caller=frame.caller, full_name=full_name) if frame.caller else None
    if mine is None or explanation is None:
        raise Http404
    context = {
        "mine": mine,
        "told": explanation,
        "mend": explanation.mend,
        "rungs": rungs_of(explanation),
    }
    return render_page(request, "access/why.html", context, frame=frame)


def rungs_of(explanation: Explanation) -> tuple[Rung, ...]:
    """Return the ladder of precedence: preconditions, spaces upwards, grants, default, own setting.

    The capability's own setting is always considered.
    """
    first = explanation.steps[0]
    rungs: list[Rung] = []
    for label, kind, steps in _list_rungs(explanation):
        is_decided = any(rung.decides for rung in rungs)
        decides = any(step.decides for step in steps) if kind == "own" else first in steps
        rungs.append(Rung(label, kind, steps, decides, asked=not is_decided or kind == "own"))
    return tuple(rungs)


def _list_rungs(explanation: Explanation) -> list[tuple[str, str, tuple[ExplanationStep, ...]]]:
    def of(*kinds: str) -> tuple[ExplanationStep, ...]:
        return tuple(step for step in explanation.steps if step.kind in kinds)

    spaces = [
        (place.name, "space", tuple(step for step in of("rule") if step.distance == distance))
        for distance, place in enumerate(explanation.path)
    ]
    by_kind = {
        "rule": spaces,
        "grant": [(_("Grants"), "grant", of("grant"))],
        "default": [(_("Group default"), "default", of("default"))],
    }
    rungs = [(_("Requirements"), "gate", of("nobody", "switched-off", "application"))]
    rungs += [rung for kind in LADDER for rung in by_kind[kind]]
    own_steps = of("own")
    return [*rungs, (_("The tool's own setting"), "own", own_steps)] if own_steps else rungs


def _mend_for_reader(
    request: PageRequest, who: ExplainSubject, explanation: Explanation
) -> MendLink | None:
    is_own = who.person is not None and who.person.pk == request.user.pk
    return explanation.mend if is_own else explanation.mend_by_admin


def _fix(who: ExplainSubject, name: str, explanation: Explanation) -> tuple[Fix, str, str] | None:
    """Return the smallest change that gives the tool, as a sentence and as lines of a form."""
    capability = Capability.objects.select_related("integration").filter(full_name=name).first()
    if who.person is None or who.caller is None or capability is None:
        return None
    fix = find_fix(
        person=who.person, caller=who.caller, capability=capability, explanation=explanation
    )
    if fix is None:
        return None
    return fix, "; ".join(map(sentence, fix.changes)), write_changes(fix.changes)


def _resolve_subject(form: ExplainForm) -> ExplainSubject:
    """Resolve the person; default to their first group."""
    form.full_clean()
    data = form.cleaned_data
    person = User.objects.filter(username=data.get("user") or "").first()
    own_groups = frozenset(person.groups.values_list("pk", flat=True)) if person else frozenset()
    groups = sorted(
        Group.objects.order_by("name", "pk"), key=lambda group: group.pk not in own_groups
    )
    group_key = data.get("group")
    group = next((group for group in groups if group.pk == group_key), None)
    group = group or next((group for group in groups if group.pk in own_groups), None)
    spaces = Space.objects.filter(group=group, pk=data.get("space") or 0)
    applications = list(Application.objects.order_by("name", "pk"))
    return ExplainSubject(
        person,
        group,
        spaces.first() if group else None,
        groups,
        own_groups,
        next((row for row in applications if row.pk == data.get("application")), None),
        applications,
    )


def _with_addresses(holders: Sequence[Holder], capability: Capability) -> list[HolderLink]:
    """Add the URL of the explanation to each holder."""
    places = Space.objects.filter(
        group__name__in={item.group for item in holders}, slug__in={item.space for item in holders}
    ).select_related("group")
    keys = {(place.group.name, place.slug): place for place in places}
    rows = []
    for holder in holders:
        query = {"user": holder.user, "capability": capability.full_name}
        query |= {"at": moment.isoformat()} if (moment := past_moment()) else {}
        if (place := keys.get((holder.group, holder.space))) is not None:
            query |= {"group": str(place.group_id), "space": str(place.pk)}
        rows.append(HolderLink(holder, f"{reverse('access-explain')}?{urlencode(query)}"))
    return rows


def _record_look(request: PageRequest, person: User, kind: str) -> None:
    record_look(by=request.user, subject=person.pk, name=person.get_username(), kind=kind)
