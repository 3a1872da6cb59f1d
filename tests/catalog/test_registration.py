import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from acl.models import AuditEntry
from catalog.formats.descriptors import Defect
from catalog.lexical import DIMENSIONS, query_vector
from catalog.models import (
    Capability,
    CatalogVersion,
    Embedding,
    Integration,
    IntegrationGroupPermission,
    LexicalVector,
)
from catalog.registration.register import register
from tests.catalog.builders import loaded, store, tool

pytestmark = pytest.mark.django_db


def rows_as_written() -> list[tuple[str, ...]]:
    """Return each row with the transaction that wrote it."""
    tables = (Capability, Integration, Embedding, LexicalVector, CatalogVersion, AuditEntry)
    with connection.cursor() as cursor:
        rows = []
        for table in tables:
            name = connection.ops.quote_name(table._meta.db_table)
            cursor.execute(f"SELECT ctid::text, xmin::text FROM {name}")  # noqa: S608
            rows += cursor.fetchall()
    return rows


def test_capability_is_stored_with_its_words_and_the_promise_of_a_vector() -> None:
    report = store(tool("send_email", "Sends a letter.", tags=("mail",)))

    row = Capability.objects.select_related("lexical").get(full_name="gmail__send_email")
    assert (report.created, row.integration.slug, row.tags) == (1, "gmail", ["mail"])
    assert row.tokens > 5
    assert set(query_vector("letter")) <= set(row.lexical.terms.indices())
    promise = row.embeddings.get()
    assert (promise.model.name, promise.vector_hash) == ("wordy", "")
    assert promise.text_hash


def test_importing_twice_writes_no_row() -> None:
    tools = [tool("send_email"), tool("read_email", integration="outlook")]
    store(*tools)
    before = rows_as_written()

    report = store(*tools)

    assert (report.created, report.changed, report.unchanged) == (0, 0, 2)
    assert rows_as_written() == before


@pytest.mark.django_db(transaction=True)
def test_changed_description_is_embedded_again_alone(sent: list[list[int]]) -> None:
    store(tool("send_email"), tool("read_email"))
    sent.clear()

    report = store(tool("send_email", "Something else."), tool("read_email"))

    assert (report.changed, report.unchanged) == (1, 1)
    assert sent == [[Capability.objects.get(action="send_email").pk]]


@pytest.mark.django_db(transaction=True)
def test_change_that_is_not_in_the_text_is_not_embedded_again(sent: list[list[int]]) -> None:
    store(tool("send_email"))
    sent.clear()

    report = store(tool("send_email", output_schema={"type": "string"}))

    assert report.changed == 1
    assert sent == []


@pytest.mark.django_db(transaction=True)
def test_queue_hears_nothing_of_what_was_not_committed(sent: list[list[int]]) -> None:
    with transaction.atomic():
        store(tool("send_email"))
        transaction.set_rollback(True)

    assert sent == []
    assert not Capability.objects.exists()


def test_capability_of_another_integration_is_never_overwritten() -> None:
    store(tool("send_email", "Ours."))

    theirs = tool("send_email", "Theirs.", integration="other", full_name="gmail__send_email")
    report = store(theirs, tool("fine", integration="other"))

    assert report.created == 1
    assert "taken" in report.defects[0].reason
    assert Capability.objects.get(full_name="gmail__send_email").description == "Ours."


def test_integration_of_another_kind_is_never_overwritten() -> None:
    store(tool("send_email"))
    Integration.objects.update(kind="builtin")

    report = store(tool("send_email", "Theirs."), tool("delete_all"))

    assert report.loaded == 0
    assert "gmail" in report.defects[0].reason
    assert Capability.objects.get().description == "It can send email."


def test_what_an_admin_has_decided_stays() -> None:
    store(tool("send_email", category="other", category_inferred=True))
    decided = {"pinned": True, "ai_access": "blocked", "category": "mail"}
    Capability.objects.update(category_inferred=False, state="quarantined", **decided)

    store(tool("send_email", "New.", category="other", category_inferred=True))

    row = Capability.objects.get()
    assert (row.description, row.state, row.category_inferred) == ("New.", "quarantined", False)
    assert {name: getattr(row, name) for name in decided} == decided


def test_stricter_access_of_a_new_definition_is_taken() -> None:
    store(tool("send_email"))

    store(tool("send_email", ai_access="propose"))

    assert Capability.objects.get().ai_access == "propose"


def test_what_is_gone_is_removed_only_when_asked() -> None:
    store(tool("send_email"), tool("read_email"), tool("other", integration="slack"))

    assert store(tool("send_email")).removed == 0
    assert store(tool("send_email"), prune=True).removed == 1
    assert set(Capability.objects.values_list("action", flat=True)) == {"send_email", "other"}


def test_nothing_is_removed_while_the_source_has_defects() -> None:
    store(tool("send_email"), tool("read_email"))
    source = loaded(tool("send_email"), defects=(Defect("read.json", "file", "is no JSON"),))

    report = register(source, by=None, source="test", prune=True)

    assert report.removed == 0
    assert report.defects[-1].field == "prune"


def test_group_is_granted_each_integration_once() -> None:
    group = Group.objects.create(name="support")

    first = store(tool("send_email"), tool("post", integration="slack"), group=group)
    second = store(tool("send_email"), tool("post", integration="slack"), group=group)

    assert (first.granted, second.granted) == (2, 0)
    assert IntegrationGroupPermission.objects.filter(group=group).count() == 2
    entry = AuditEntry.objects.get(action="grant.add")
    assert entry.details == {"integrations": ["gmail", "slack"]}


def test_version_moves_with_a_change_and_only_then() -> None:
    store(tool("send_email"))
    before = CatalogVersion.objects.get().number

    store(tool("send_email"))
    unchanged = CatalogVersion.objects.get().number
    store(tool("send_email", "New."))

    assert unchanged == before < CatalogVersion.objects.get().number


def test_value_that_does_not_fit_is_a_defect_and_the_others_load() -> None:
    misfit = tool("send_email", category="x" * 61, source_ref={"file": "tools.json"})

    report = store(misfit, tool("read_email"))

    assert report.created == 1
    assert (report.defects[0].file, report.defects[0].field) == ("tools.json", "category")


@pytest.mark.parametrize(
    "value", [float("nan"), "a\x00b", "a\ud800b"], ids=["no number", "zero", "half a character"]
)
def test_value_that_the_database_refuses_is_a_defect_and_the_others_load(value: object) -> None:
    refused = tool("refused", input_schema={"default": value}, source_ref={"file": "tools.json"})

    report = store(refused, *(tool(f"tool_{number}") for number in range(9)))

    assert (report.created, len(report.defects)) == (9, 1)
    assert report.defects[0].file == "tools.json"


def test_many_are_stored_by_as_few_statements_as_one() -> None:
    with CaptureQueriesContext(
        connection,
    ) as one:
        store(tool("a0"))
    with CaptureQueriesContext(connection) as many:
        store(*(tool(f"b{number}") for number in range(40)))

    assert len(many) <= len(one)


def test_same_definition_on_two_integrations_has_one_fingerprint() -> None:
    store(tool("send_email", "Same."), tool("send_email", "Same.", integration="outlook"))

    assert Capability.objects.values("fingerprint").distinct().count() == 1


def test_column_of_words_has_their_dimension() -> None:
    column = LexicalVector._meta.get_field("terms")

    assert column.dimensions == DIMENSIONS
