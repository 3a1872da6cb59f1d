"""Example requests of an integration's tools: who needs some, asking a model, and an admin's word.

Tools whose description says little are found worse than others. What people might write for such a
tool is searched like its source's examples, and never shown or sent as the source's words. A
model's proposals count only once an admin took them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import numpy as np
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from acl.platform.answer_model import HIDDEN, Answer, FieldRefused, Shown
from acl.platform.jobs import move
from acl.platform.stored_texts import translate_stored
from acl.platform.task_names import ASK_FOR_EXAMPLES, send_on_commit
from catalog.embedding.configured_embedder import answering_embedder
from catalog.embedding.embedder import Embedder, EmbedderUnavailable
from catalog.embedding.multilingual_embedder import embed_documents
from catalog.embedding.texts import LONGEST_EXAMPLE, MOST_EXAMPLES, embedding_text
from catalog.lexical import words
from catalog.models import Capability, Integration
from catalog.registration.admin_corrections import correct_capability
from catalog.token_counter import token_counter
from catalog.trust.findings import requires_review, worst_first
from catalog.trust.scanner import scan_definition
from discovery.advice.questions import EXAMPLES, MOST_OF_EXAMPLES, example_question
from discovery.chats.problems import describe_problem
from discovery.models import ChatModel, ExampleRun
from discovery.prices.model import list_prices, price_of
from discovery.select.example_texts import embed_examples

MOST_TOOLS = 100
_FEWEST_WORDS = 3
# A model's answer of five requests, as it is counted before it is asked.
_TOKENS_OF_ANSWER = 110


class ExamplesRefusedError(FieldRefused):
    """Examples cannot be asked for, or stored. `field` names what is wrong, or the tool."""


@dataclass(frozen=True, slots=True)
class ToolExamples(Answer):
    """A tool's example requests: those in use, or those that a model proposes in their place.

    `found_before` and `found_after` are None where they were not measured.
    """

    pk: Annotated[int, HIDDEN]
    full_name: str
    display_name: str
    description: str
    is_poor: Annotated[bool, Shown("Its description says hardly more than its name.")]
    texts: tuple[str, ...]
    origin: Annotated[str, Shown("The chat model that wrote them; empty for an admin.")]
    is_proposed: Annotated[bool, Shown("They count once an admin took them.")]
    found_before: Annotated[
        int | None, Shown("Texts that have the tool among their five nearest without the others.")
    ]
    found_after: Annotated[int | None, Shown("The same with the others in the tool's text.")]


def list_tools(integration: Integration, run: ExampleRun | None) -> list[ToolExamples]:
    """Return an integration's tools: those with proposals first, then those described poorly."""
    proposals = _open_proposals(run)
    origin = run.origin if run else ""
    rows = list(_tools(integration))
    poor = described_poorly(rows)
    tools = []
    for row in rows:
        proposal = proposals.get(str(row.pk))
        stored = proposal or row.example_requests
        tools.append(
            ToolExamples(
                pk=row.pk,
                full_name=row.full_name,
                display_name=row.display_name,
                description=row.description,
                is_poor=row.pk in poor,
                texts=tuple(stored.get("texts", ())),
                origin=origin if proposal else stored.get("origin", ""),
                is_proposed=bool(proposal),
                found_before=stored.get("found_before"),
                found_after=stored.get("found_after"),
            )
        )
    return sorted(tools, key=lambda tool: (not tool.is_proposed, not tool.is_poor, tool.full_name))


def _open_proposals(run: ExampleRun | None) -> dict[str, Any]:
    """Return a run's proposals once it has ended: until then its worker writes them."""
    return {} if run is None or run.state in ExampleRun.UNDER_WAY else dict(run.proposals)


def _tools(integration: Integration) -> Any:
    rows = Capability.objects.filter(integration=integration, state="approved")
    # The rest of a definition is large, and says nothing here.
    rows = rows.defer("output_schema", "content", "annotations", "source_ref", "effect_evidence")
    return rows.select_related("integration").order_by("full_name")


def described_poorly(rows: Sequence[Capability]) -> set[int]:
    """Return the keys of tools that have no example, and whose description says hardly more than
    their name, or the same as another tool's."""
    descriptions = Counter(row.description for row in rows)
    names = {row.pk: words(f"{row.tool_name} {row.display_name}") for row in rows}
    return {
        row.pk
        for row in rows
        if not row.examples
        and (
            descriptions[row.description] > 1
            or len(set(words(row.description)).difference(names[row.pk])) < _FEWEST_WORDS
        )
    }


# Asking a model.


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of asking: tokens read and written, and US dollars; None without a price."""

    tokens: int
    dollars: Decimal | None


def estimate(models: Iterable[ChatModel], rows: Collection[Capability]) -> dict[ChatModel, Cost]:
    """Estimate what it costs to ask each of the models about tools."""
    count = token_counter().count
    questions = sum(count(EXAMPLES) + count(example_question(row).text) for row in rows)
    answers, all_prices = len(rows) * _TOKENS_OF_ANSWER, list_prices()
    costs = {}
    for model in models:
        price = price_of(model.model_id, all_prices)
        dollars = price.cost(tokens_read=questions, tokens_written=answers) if price else None
        costs[model] = Cost(questions + answers, dollars)
    return costs


def choose_tools(integration: Integration, names: Collection[str]) -> list[Capability]:
    """Return the named tools, or without names those described poorly that have no requests yet.

    Raises ExamplesRefusedError.
    """
    rows = list(_tools(integration))
    poor = described_poorly(rows)
    if not names:
        return [row for row in rows if row.pk in poor and not row.example_requests][:MOST_TOOLS]
    if unknown := set(names).difference(row.full_name for row in rows):
        problem = _("There is no tool “%(name)s” here.") % {"name": min(unknown)}
        raise ExamplesRefusedError("tools", problem)
    return [row for row in rows if row.full_name in names]


@transaction.atomic
def ask_for_examples(
    *, by: User | None, integration: Integration, model: ChatModel, tools: Sequence[Capability]
) -> ExampleRun:
    """Ask a model for example requests of tools, in place of its earlier proposals.

    Raises ExamplesRefusedError.
    """
    if not settings.PEGBOARD_EXAMPLE_REQUESTS:
        problem = _("Example requests are turned off (PEGBOARD_EXAMPLE_REQUESTS).")
        raise ExamplesRefusedError("model", problem)
    if not tools:
        raise ExamplesRefusedError("tools", _("Choose a tool at least."))
    if len(tools) > MOST_TOOLS:
        problem = _("At most %(most)s tools at once.") % {"most": MOST_TOOLS}
        raise ExamplesRefusedError("tools", problem)
    Integration.objects.select_for_update().get(pk=integration.pk)
    run = ExampleRun.objects.filter(integration=integration).first()
    if run and run.state in ExampleRun.UNDER_WAY:
        raise ExamplesRefusedError("model", _("A model is being asked already."))
    run = run or ExampleRun(integration=integration)
    run.model, run.origin, run.total = model, model.name, len(tools)
    run.tools, run.proposals, run.tokens = [row.pk for row in tools], {}, 0
    run.state, run.reason, run.detail, run.attempts = ExampleRun.State.QUEUED, "", "", 0
    run.created_at = run.sent_at = Now()
    run.save()
    names = [row.full_name for row in tools]
    details = {"model": model.name, "tools": names}
    record(by=by, action="examples.ask", target=integration.slug, details=details)
    send_on_commit(ASK_FOR_EXAMPLES, run.pk)
    return run


# An admin's word.


@transaction.atomic
def set_examples(
    *, by: User | None, integration: Integration, texts: Mapping[str, Sequence[str]]
) -> int:
    """Store the example requests of tools, by full name; an empty list takes them back.

    What a model proposed for these tools is decided by it: an empty list only drops it, and what
    the tool had before stays. Returns the number of tools decided about or changed. Raises
    ExamplesRefusedError, whose field is the tool.
    """
    run = ExampleRun.objects.select_for_update().filter(integration=integration).first()
    proposals = _open_proposals(run)
    rows = Capability.objects.select_related("integration").select_for_update(of=("self",))
    rows = rows.filter(integration=integration, full_name__in=texts).order_by("pk")
    changed = 0
    for row in rows:
        lines = _checked(row.full_name, texts[row.full_name])
        proposal = proposals.pop(str(row.pk), None)
        if proposal and not lines:
            changed += 1
            continue
        requests: dict[str, Any] = {}
        if lines:
            # Theirs who wrote all of the lines; whoever changes one is an admin.
            before = row.example_requests
            is_kept = set(lines) <= set(before.get("texts", ()))
            origin = before["origin"] if is_kept else ""
            if run and proposal and set(lines) <= set(proposal["texts"]):
                origin = run.origin
            requests = {"texts": lines, "origin": origin}
            if proposal and lines == proposal["texts"]:
                places = ("found_before", "found_after")
                requests |= {name: proposal[name] for name in places if name in proposal}
        if lines != row.example_requests.get("texts", []):
            row.example_requests = requests
            correct_capability(by=by, capability=row, changed=["example_requests"])
            changed += 1
    if run and run.state not in ExampleRun.UNDER_WAY:
        ExampleRun.objects.filter(pk=run.pk).update(proposals=proposals)
    return changed


def _checked(name: str, texts: Sequence[str]) -> list[str]:
    lines = list(dict.fromkeys(filter(None, (" ".join(text.split()) for text in texts))))
    if len(lines) > MOST_EXAMPLES:
        problem = _("At most %(most)s examples for a tool.") % {"most": MOST_EXAMPLES}
        raise ExamplesRefusedError(name, problem)
    if any(len(line) > LONGEST_EXAMPLE for line in lines):
        problem = _("An example has at most %(most)s characters.") % {"most": LONGEST_EXAMPLE}
        raise ExamplesRefusedError(name, problem)
    findings = worst_first(scan_definition({"examples": lines}))
    if requires_review(findings):
        raise ExamplesRefusedError(name, translate_stored(findings[0].told))
    return lines


def proposed_texts(answer_texts: Sequence[str]) -> list[str]:
    """Return what an admin may be shown of a model's answer: no text that a review would hold."""
    return [
        text
        for text in answer_texts[:MOST_OF_EXAMPLES]
        if not requires_review(scan_definition({"examples": [text]}))
    ]


# What page and API show.


@dataclass(frozen=True, slots=True)
class ExampleOverview(Answer):
    """An integration's example requests, and the newest run that asked a model for some.

    `state` is "" where none was asked, and `tools_left` how many are yet to be asked about.
    """

    on: Annotated[bool, Shown("False while PEGBOARD_EXAMPLE_REQUESTS switches them off.")]
    state: str
    model: str
    tools_asked: int
    tools_left: int
    tokens: Annotated[int, Shown("Read and written by the model.")]
    problem: str
    detail: Annotated[str, Shown("The provider's own words.")]
    tools: tuple[ToolExamples, ...]

    @property
    def is_under_way(self) -> bool:
        """Return True while a model is asked, or its answers are measured."""
        return self.state in ExampleRun.UNDER_WAY


def overview_of(integration: Integration) -> ExampleOverview:
    """Return an integration's example requests as page and API show them."""
    run = ExampleRun.objects.filter(integration=integration).first()
    return ExampleOverview(
        on=settings.PEGBOARD_EXAMPLE_REQUESTS,
        state=run.state if run else "",
        model=run.origin if run else "",
        tools_asked=run.total if run else 0,
        tools_left=len(run.tools) if run else 0,
        tokens=run.tokens if run else 0,
        problem=describe_problem(run.reason) if run else "",
        detail=run.detail if run else "",
        tools=tuple(list_tools(integration, run)),
    )


AMONG = 5
# How many other tools are nearer than two distances: the tool's own before and after.
_NEARER = """
SELECT count(*) FILTER (WHERE distance < %s), count(*) FILTER (WHERE distance < %s)
FROM (
  SELECT e.vector <=> %s::vector AS distance
  FROM catalog_embedding e JOIN catalog_embeddingmodel m ON m.id = e.model_id
  JOIN catalog_capability c ON c.id = e.capability_id
  JOIN catalog_integration i ON i.id = c.integration_id
  WHERE m.name = %s AND e.vector IS NOT NULL AND c.id <> %s AND c.state = 'approved' AND i.enabled
) others
"""


# Each request is asked with its tool's text as it is, and again with the other requests in it, so
# none finds itself.
def measure_run(pk: int) -> None:
    """Note for each proposal of a run how many of its texts find the tool; end the run.

    Without an embedder it ends without figures.
    """
    run = ExampleRun.objects.filter(pk=pk, state=ExampleRun.State.MEASURING).first()
    if run is None:
        return
    try:
        embedder = answering_embedder()
        proposals = {key: _measured(key, value, embedder) for key, value in run.proposals.items()}
    except EmbedderUnavailable:
        proposals = run.proposals
    move(run, ExampleRun.State.ENDED, unchanged=("state", "attempts"), proposals=proposals)


def _measured(key: str, proposal: Mapping[str, Any], embedder: Embedder) -> dict[str, Any]:
    row = Capability.objects.select_related("integration").filter(pk=key).first()
    texts: Sequence[str] = proposal["texts"]
    if row is None or len(texts) < 2:
        return dict(proposal)
    requests = embed_examples(texts, embedder)
    readings = [embedding_text(row)]
    for place in range(len(texts)):
        row.example_requests = {"texts": [*texts[:place], *texts[place + 1 :]]}  # is not saved
        readings.append(embedding_text(row))
    documents = embed_documents(embedder, readings)
    before, after = requests @ documents[0], np.sum(requests * documents[1:], axis=1)
    found_before = found_after = 0
    with connection.cursor() as cursor:
        for place, vector in enumerate(requests):
            as_text = "[" + ",".join(map(repr, vector.tolist())) + "]"
            distances = (1 - float(before[place]), 1 - float(after[place]))
            cursor.execute(_NEARER, [*distances, as_text, embedder.name, row.pk])
            nearer_before, nearer_after = cursor.fetchone()
            found_before += nearer_before < AMONG
            found_after += nearer_after < AMONG
    return {**proposal, "found_before": found_before, "found_after": found_after}
