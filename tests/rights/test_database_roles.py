"""The application's database role and the triggers: what it may do, and all that it may not."""

import re
from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import Error, connection, transaction

from acl.audit.log_verification import check_log
from acl.audit.recorder import record
from acl.models import AuditEntry
from acl.platform.migration_operations import DatabaseTrigger
from marketplace.operate.roles.grants import grant_rights, list_excess_rights
from marketplace.operate.roles.names import (
    ANALYZED,
    APP,
    AUDIT,
    AUDIT_ARCHIVE,
    AUDIT_ENTRIES,
    AUDIT_HEAD,
    OWNER,
    READ_ONLY,
)
from marketplace.operate.roles.owner import as_owner
from tests.databases import as_superuser, superuser_conninfo
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

REFUSED = (
    "permission denied|must be (superuser|owner|able)|only roles? with|not allowed|denied to"
    "|is not available"
)
HOSTILE = {
    "switching triggers off for the session": "SET session_replication_role = replica",
    "the same by a function": "SELECT set_config('session_replication_role', 'replica', false)",
    "becoming the owner": "SET ROLE pegboard_owner",
    "becoming the owner of the audit log": "SET ROLE pegboard_audit",
    "becoming the superuser": "SET ROLE postgres",
    "another session": "SET SESSION AUTHORIZATION postgres",
    "making itself a superuser": "ALTER ROLE CURRENT_USER SUPERUSER",
    "making a role": "CREATE ROLE friend LOGIN SUPERUSER",
    "joining a role": "GRANT pegboard_owner TO pegboard_app",
    "making a schema": "CREATE SCHEMA own",
    "a table that shadows": "CREATE TABLE public.acl_auditentries (id bigint)",
    "a function that shadows": (
        "CREATE FUNCTION public.sha256(text) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'"
    ),
    "replacing a function of the log": (
        "CREATE OR REPLACE FUNCTION public.acl_audit_refused() RETURNS trigger LANGUAGE sql AS ''"
    ),
    "an operator that shadows": "CREATE OPERATOR public.= (FUNCTION = texteq, LEFTARG = text)",
    "a block of code": "DO $$ BEGIN NULL; END $$",
    "a function among temporary tables": (
        "CREATE FUNCTION pg_temp.f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN NULL; END $$"
    ),
    "an untrusted language": (
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE c AS '/lib/x86_64-linux-gnu/libc.so.6'"
    ),
    "removing an extension": "DROP EXTENSION vector",
    "adding an extension": "CREATE EXTENSION IF NOT EXISTS dblink",
    "a server elsewhere": "CREATE FOREIGN DATA WRAPPER elsewhere",
    "running a program": "COPY (SELECT 1) TO PROGRAM 'id'",
    "reading from a program": "COPY catalog_preset FROM PROGRAM 'id'",
    "reading a file of the server": "COPY catalog_preset FROM '/etc/passwd'",
    "writing a file of the server": "COPY (SELECT 1) TO '/tmp/written'",
    "a file by a function": "SELECT pg_read_file('/etc/passwd')",
    "a folder by a function": "SELECT pg_ls_dir('.')",
    "a file as a large object": "SELECT lo_import('/etc/passwd')",
    "a large object": "SELECT lo_create(0)",
    "another large object": "SELECT lo_from_bytea(0, 'x')",
    "passwords of roles": "SELECT rolpassword FROM pg_authid",
    "reloading the server's settings": "SELECT pg_reload_conf()",
    "updating an entry": "UPDATE acl_auditentry SET target = 'other'",
    "deleting entries": "DELETE FROM acl_auditentry",
    "emptying the log": "TRUNCATE acl_auditentry",
    "emptying it with others": "TRUNCATE auth_user CASCADE",
    "locking the log": "LOCK acl_auditentry IN ACCESS EXCLUSIVE MODE",
    "locking an entry": "SELECT 1 FROM acl_auditentry FOR UPDATE",
    "replacing an entry": (
        "INSERT INTO acl_auditentry (at, by_name, action, target, details, request_id, key_prefix,"
        " address) VALUES (now(), '', 'a', 'b', '{}', '', '', '')"
        " ON CONFLICT (number) DO UPDATE SET target = 'other'"
    ),
    "choosing an id": "INSERT INTO acl_auditentry (id) OVERRIDING SYSTEM VALUE VALUES (7)",
    "moving the ids": "SELECT setval('acl_auditentry_id_seq', 1)",
    "using up the ids": "SELECT nextval('acl_auditentry_id_seq')",
    "moving the head": "UPDATE acl_audithead SET number = 0",
    "a head of its own": "INSERT INTO acl_audithead (number, digest) VALUES (0, '')",
    "switching a trigger off": "ALTER TABLE acl_auditentry DISABLE TRIGGER USER",
    "dropping a trigger": "DROP TRIGGER acl_audit_unchanged ON acl_auditentry",
    "dropping the log": "DROP TABLE acl_auditentry",
    "renaming the log": "ALTER TABLE acl_auditentry RENAME TO acl_gone",
    "a rule that rewrites": (
        "CREATE RULE gone AS ON INSERT TO acl_auditentry DO INSTEAD NOTHING"
    ),
    "a trigger of its own": (
        "CREATE TRIGGER own BEFORE INSERT ON acl_auditentry FOR EACH ROW"
        " EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    ),
    "the log's function on a table of its own": (
        "CREATE TEMPORARY TABLE own (id bigint); CREATE TRIGGER own AFTER INSERT ON own"
        " FOR EACH ROW EXECUTE FUNCTION public.acl_audit_placed()"
    ),
    "policies for rows": "ALTER TABLE acl_auditentry ENABLE ROW LEVEL SECURITY",
    "a table that it uses": "ALTER TABLE auth_user DISABLE TRIGGER ALL",
    "saying that it was migrated": (
        "INSERT INTO django_migrations (app, name, applied) VALUES ('acl', 'x', now())"
    ),
    "a permission of its own": "UPDATE auth_permission SET codename = 'other'",
    "a type of content": "DELETE FROM django_content_type",
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("statement", HOSTILE.values(), ids=HOSTILE)
def test_database_refuses_the_application(statement: str) -> None:
    with pytest.raises(Error, match=f"(?i){REFUSED}"), transaction.atomic():
        connection.cursor().execute(statement)


OUTSIDE = {
    "a database": "CREATE DATABASE own",
    "settings of the server": "ALTER SYSTEM SET log_statement = 'all'",
    "the template": "ALTER DATABASE pegboard_template RENAME TO own",
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("statement", OUTSIDE.values(), ids=OUTSIDE)
def test_database_refuses_what_is_done_outside_of_transactions(statement: str) -> None:
    with pytest.raises(Error, match=f"(?i){REFUSED}"):
        connection.cursor().execute(statement)


@pytest.mark.django_db
def test_application_has_no_attribute_and_no_other_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname, rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls"
            " FROM pg_roles WHERE rolname = current_user"
        )
        attributes = cursor.fetchall()
        cursor.execute("SELECT rolname FROM pg_roles WHERE pg_has_role(oid, 'MEMBER')")
        roles = cursor.fetchall()
        cursor.execute("SELECT relname FROM pg_class WHERE relowner = current_user::regrole")
        owned = cursor.fetchall()

    assert attributes == [(APP, False, False, False, False, False)]
    assert (roles, owned) == ([(APP,)], [])
    assert list_excess_rights() == []


RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN")


@pytest.mark.django_db
def test_rights_on_every_table_are_those_that_are_meant() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, pg_get_userbyid(relowner), ARRAY(SELECT r FROM unnest(%s::text[]) r"
            " WHERE has_table_privilege(pg_class.oid, r)) FROM pg_class"
            " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')",
            [list(RIGHTS)],
        )
        found = {name: (owner, set(rights)) for name, owner, rights in cursor.fetchall()}

    assert len(found) > 50
    for name, (owner, rights) in found.items():
        log = name in {AUDIT_ENTRIES, AUDIT_HEAD, AUDIT_ARCHIVE}
        assert owner == (AUDIT if log else OWNER), name
        # Entries are inserted by a grant on all columns but the id.
        expected = {"SELECT"}
        if name not in {*READ_ONLY, AUDIT_ENTRIES}:
            expected |= {"INSERT", "UPDATE", "DELETE"}
        if name in ANALYZED:
            expected |= {"MAINTAIN"}
        assert rights == expected, name


@pytest.mark.django_db
def test_functions_of_the_log_are_its_owners_and_nobody_elses() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            r"SELECT proname, pg_get_userbyid(proowner), prosecdef, proconfig,"
            r" has_function_privilege(oid, 'EXECUTE') FROM pg_proc WHERE proname LIKE 'acl\_audit%'"
        )
        functions = {name: rest for name, *rest in cursor.fetchall()}

    assert functions.pop("acl_audit_placed") == [
        AUDIT, True, ["search_path=pg_catalog, public, pg_temp"], False,
    ]  # fmt: skip
    assert len(functions) >= 4
    for name, rest in functions.items():
        assert rest == [AUDIT, False, None, False], name


@pytest.mark.django_db(transaction=True)
def test_temporary_tables_do_not_take_the_place_of_the_log() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE acl_audithead (LIKE public.acl_audithead)")
        cursor.execute("CREATE TEMPORARY TABLE acl_auditentry (LIKE public.acl_auditentry)")
        cursor.execute(
            "INSERT INTO public.acl_auditentry (at, by_name, action, target, details, request_id,"
            " key_prefix, address) SELECT now(), '', 'test.change', 'one', '{}', '', '', ''"
            " WHERE NOT EXISTS (SELECT FROM public.acl_auditentry)"
        )
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("DROP TABLE pg_temp.acl_audithead, pg_temp.acl_auditentry")

    assert list(AuditEntry.objects.values_list("number", "target")) == [(1, "one")]
    assert check_log().fault is None


@pytest.mark.django_db(transaction=True)
def test_chain_goes_on_by_the_application_and_a_superusers_change_is_found() -> None:
    alice = UserFactory.create(username="alice")
    for target in ("one", "two", "three"):
        record(by=alice, action="test.change", target=target)
    before = check_log()
    with psycopg.connect(superuser_conninfo(connection.settings_dict["NAME"])) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute("UPDATE acl_auditentry SET target = 'other' WHERE number = 2")

    with pytest.raises(CommandError, match=r"Entry 2 was changed\."):
        call_command("verify_audit", verbosity=0, stdout=StringIO())

    assert (before.entries, before.fault) == (3, None)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"ALTER TABLE {AUDIT_ENTRIES} OWNER TO {APP}", "owns the audit log"),
        (f"GRANT {OWNER} TO {APP}", "owns the audit log"),
        (f"ALTER ROLE {APP} CREATEROLE", "can create other roles"),
        (f"ALTER ROLE {APP} SUPERUSER", "is a superuser"),
    ],
)
def test_powers_that_an_operator_left_to_the_application_are_told(change: str, told: str) -> None:
    if "GRANT" in change:  # the owner is a member of the application's role until now
        as_superuser(f"REVOKE {APP} FROM {OWNER}")
    as_superuser(change)

    (power,) = list_excess_rights()

    assert told in power


@pytest.mark.django_db(transaction=True)
def test_table_of_a_later_migration_can_be_used_at_once_and_after_the_next_one() -> None:
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE later_thing (id bigint GENERATED BY DEFAULT AS IDENTITY)")
    try:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO later_thing DEFAULT VALUES")
        with as_owner():
            grant_rights()
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM later_thing")
    finally:
        with as_owner(), connection.cursor() as cursor:
            cursor.execute("DROP TABLE later_thing")


_DEFINITION = re.compile(
    r"CREATE (?:CONSTRAINT )?TRIGGER (?P<name>\w+) (?P<events>.+) ON public\.(?P<table>\w+) "
    r"(?:NOT DEFERRABLE INITIALLY IMMEDIATE |(?P<deferred>DEFERRABLE INITIALLY DEFERRED) )?"
    r"(?:(?P<rows>REFERENCING .+) )?"
    r"FOR EACH (?P<each>.+) EXECUTE FUNCTION (?P<function>\w+)\((?P<arguments>.*)\)"
)


def declared() -> Iterator[DatabaseTrigger]:
    for model in apps.get_models():
        for one in getattr(model, "triggers", ()):
            each = one.each.replace("::text", "")
            yield one._replace(table=one.table or model._meta.db_table, each=each)


def stored() -> Iterator[DatabaseTrigger]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal")
        for (text,) in cursor.fetchall():
            found = _DEFINITION.fullmatch(text)
            assert found is not None, text
            when = " ".join(filter(None, (found["events"], found["deferred"])))
            each = re.sub(r"WHEN \(\((.+)\)\)", _without_brackets, found["each"])
            yield DatabaseTrigger(
                *(found["name"], when, each, found["function"], found["table"]),
                *(found["rows"] or "", found["arguments"]),
            )


def _without_brackets(condition: re.Match[str]) -> str:
    return f"WHEN ({re.sub(r'[()]|::text', '', condition[1])})"


def test_every_trigger_is_declared_by_a_model_and_every_declared_one_is_there() -> None:
    assert sorted(stored()) == sorted(declared())


def test_every_trigger_is_on() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled NOT IN ('O', 'A')"
        )
        assert cursor.fetchall() == []
