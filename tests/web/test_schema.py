"""The API against its OpenAPI schema, and answers as dataclasses."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from io import StringIO
from typing import Annotated, Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.test import Client
from django.urls import URLResolver, get_resolver
from django.utils.translation import get_language, gettext_lazy
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView
from schemathesis import APIOperation
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from acl.models import ApiKey
from acl.platform.answer_model import HIDDEN, SPREAD, Answer, Shown, fields_of, write_answer
from acl.platform.strict_json import parse_json
from acl.web import openapi_pages
from acl.web.api_views import SelectionRenderer
from acl.web.serializers import StrictSerializer, page_serializer, serializer_for
from discovery.answer.selection import SelectAnswer
from discovery.select._candidate_rows import Candidate, row_reader
from discovery.select.selection import Selected
from tests.access.people import People
from tests.examples import EXAMPLES_OF_PAGES, IS_LONG
from tests.web.conftest import new_key

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SCOPES = ("select", "discover", "execute", "register", "admin")


def ask(operation: APIOperation, headers: dict[str, str]) -> None:
    """Call the operation with generated values, some valid and some not."""
    # A call without a body has little that could be generated.
    examples = EXAMPLES_OF_PAGES if IS_LONG or operation.body else EXAMPLES_OF_PAGES // 2

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def answers_as_described(case: schemathesis.Case) -> None:
        case.call_and_validate(headers=headers, checks=CHECKS)

    answers_as_described()


@pytest.mark.django_db
def test_schema_is_made_once_for_each_language_and_form(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make: Any = SchemaGenerator.get_schema
    made: list[str] = []

    def note(generator: SchemaGenerator, *given: Any, **asked: Any) -> Any:
        made.append(get_language())
        return make(generator, *given, **asked)

    monkeypatch.setattr(SchemaGenerator, "get_schema", note)
    openapi_pages._rendered.cache_clear()

    answers = [client.get(f"/api/schema/{query}") for query in ("", "", "?lang=de", "?lang=none")]
    as_json = client.get("/api/schema/?format=json")
    client.get("/api/schema/?version=other")

    assert made == ["en", "de", "en", "en"]  # the last is of a word of theirs, and is not kept
    assert answers[0].content == answers[1].content == answers[3].content
    assert answers[0]["Content-Type"] == "application/vnd.oai.openapi; charset=utf-8"
    assert as_json.json()["info"]["title"] == "Pegboard"


def test_schema_is_made_without_a_warning() -> None:
    out = StringIO()

    call_command("spectacular", validate=True, fail_on_warn=True, stdout=out)

    assert "/api/v1/select" in out.getvalue()


def test_every_body_is_closed_to_unknown_fields() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    components = schema["components"]["schemas"]
    operations = [one for path in schema["paths"].values() for one in path.values()]

    bodies = [one["requestBody"]["content"] for one in operations if "requestBody" in one]

    assert len(bodies) >= 20
    for body in bodies:
        name = body["application/json"]["schema"]["$ref"].rsplit("/", 1)[1]
        assert components[name]["additionalProperties"] is False, name


@pytest.fixture
def _one_connection() -> Iterator[None]:
    """Keep the connection open: a WSGI request would close it and end the test's transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("admin", [False, True], ids=["of a member", "of an admin"])
@pytest.mark.usefixtures("_one_connection")
def test_every_answer_is_as_described(people: People, admin: bool) -> None:
    User.objects.filter(pk=people.alice.pk).update(is_staff=admin, is_superuser=admin)
    people.alice.refresh_from_db()
    raw = new_key(people.support, *SCOPES, owner=people.alice)
    described = schemathesis.openapi.from_wsgi("/api/schema/", get_wsgi_application())

    for found in described.get_all_operations():
        assert isinstance(found, Ok), found
        ask(found.ok(), {"Authorization": f"Bearer {raw}"})


def test_every_field_that_may_be_null_says_so() -> None:
    """Fields of answers whose default is None: the document would call them text."""
    assert get_resolver().url_patterns  # which load every module with serializers
    silent = [
        f"{serializer.__name__}.{name}"
        for serializer in _subclasses(serializers.Serializer)
        if serializer.__module__.split(".")[0] in {"acl", "catalog", "discovery", "marketplace"}
        and not issubclass(serializer, StrictSerializer)
        for name, field in serializer._declared_fields.items()
        if field.default is None and not field.allow_null
    ]

    assert silent == []


def _subclasses(of: type[Any]) -> set[type[Any]]:
    direct = set(of.__subclasses__())
    return direct.union(*map(_subclasses, direct))


def test_every_call_names_its_scope() -> None:
    views = [
        getattr(pattern.callback, "view_class", None)
        for prefix in get_resolver().url_patterns
        if isinstance(prefix, URLResolver) and str(prefix.pattern) == "api/v1/"
        for pattern in prefix.url_patterns
    ]

    assert len(views) >= 4
    for view in views:
        assert view is not None
        assert issubclass(view, APIView)
        assert getattr(view, "required_scope", None), view


@pytest.mark.parametrize("path", ["/api/schema/", "/api/schema/?format=json", "/api/docs/"])
@pytest.mark.usefixtures("db")
def test_schema_and_its_pages_need_no_key(path: str) -> None:
    assert Client().get(path).status_code == 200


@pytest.mark.usefixtures("db")
def test_docs_page_has_nothing_that_our_content_policy_forbids() -> None:
    page = Client().get("/api/docs/").content.decode()

    assert "<style" not in page
    assert page.count("<script src=") == page.count("<script")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool."""

    secret: str
    name: Annotated[str, Shown("Its name.", name="full_name")]
    text: Annotated[str, Shown(parts=frozenset({"long"}))] = "word"


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """A tool among others."""

    tool: Annotated[Tool, SPREAD]
    others: tuple[Tool, ...]
    best: Tool | None
    hint: Annotated[str, Shown(optional=True)]


def test_only_fields_that_are_shown_are_written() -> None:
    tool = Tool("hidden", "gmail__send")

    answer = write_answer(Found(tool, (tool,), None, hint=""))

    assert answer == {
        "full_name": "gmail__send",
        "others": [{"full_name": "gmail__send"}],
        "best": None,
    }


def test_part_is_written_where_it_is_wanted() -> None:
    answer = write_answer(Tool("hidden", "gmail__send"), frozenset({"long"}))

    assert answer == {"full_name": "gmail__send", "text": "word"}


def test_serializer_describes_the_same_fields() -> None:
    described = serializer_for(Found)().fields

    assert list(described) == ["full_name", "text", "others", "best", "hint"]
    assert described["full_name"].help_text == "Its name."
    assert described["best"].allow_null
    assert not described["text"].required
    assert not described["hint"].required


@dataclass(frozen=True, slots=True)
class Share(Answer):
    """A share."""

    component = "PartOfAll"

    part: int
    whole: Annotated[int, HIDDEN]

    @property
    def percent(self) -> Annotated[float, Shown("Of the whole.")]:
        return 100 * self.part / self.whole

    @property
    def unseen(self) -> int:
        return 7


def test_property_with_a_mark_is_answered_and_a_hidden_field_is_not() -> None:
    serializer = serializer_for(Share)

    assert write_answer(Share(1, 4)) == serializer(Share(1, 4)).data == {"part": 1, "percent": 25}
    assert serializer.__name__ == "PartOfAllSerializer"
    assert serializer().fields["percent"].help_text == "Of the whole."


def test_page_has_the_items_and_how_far_they_go() -> None:
    serializer = page_serializer(serializer_for(Share), "Shares", "A page of shares.")
    page = {"items": [Share(1, 2)], "total": 9, "has_more": True, "limit": 1, "offset": 0}

    assert serializer(page).data == {**page, "items": [{"part": 1, "percent": 50}]}
    assert (serializer.__name__, serializer.__doc__) == ("SharesSerializer", "A page of shares.")


@pytest.mark.parametrize("model", [Selected, SelectAnswer])
def test_fields_of_an_answer_are_described_once(model: type) -> None:
    names = [field.name for field in fields_of(model)]

    assert len(names) == len(set(names))
    assert {"pk", "noted", "workings", "needed_by"}.isdisjoint(names)


def test_candidates_are_read_by_the_names_of_columns() -> None:
    columns = ("usable_tokens", "usable", *reversed(Candidate._fields))
    row = (700, 7, *reversed(range(len(Candidate._fields))))

    reader = row_reader(columns)

    assert reader.totals is not None
    assert reader.totals(row) == (7, 700)
    assert reader.candidate(row) == tuple(range(len(Candidate._fields)))
    assert reader.related is None


answers = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.uuids()
    | st.dates()
    | st.datetimes(timezones=st.just(UTC))
    | st.sampled_from((gettext_lazy("Ready"), ApiKey.Scope.SELECT)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(answers)
def test_answers_are_written_as_the_framework_writes_them(answer: Any) -> None:
    ours, theirs = (kind().render(answer) for kind in (SelectionRenderer, JSONRenderer))

    assert parse_json(ours or b"null", any_text=True) == parse_json(
        theirs or b"null", any_text=True
    )
