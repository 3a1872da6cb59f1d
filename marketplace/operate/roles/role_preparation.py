"""A superuser's part, done once: the roles, a template with pgvector, and the database.

Everything may be done again, and an existing database changes hands with all of its tables. The
same statements are run by the embedded Postgres, run by `prepare_database`, or printed for psql.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from marketplace.operate.roles.role_names import AUDIT, TEMPLATE


@dataclass(frozen=True, slots=True)
class Account:
    """A role that signs in."""

    name: str
    password: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for one database; skipped where the query `unless` finds a row."""

    database: str
    text: sql.SQL | sql.Composed
    unless: sql.Composed | None = None


def prepare_server(
    superuser_url: str, *, app: Account, owner: Account, databases: Sequence[str]
) -> None:
    """Make the roles and `databases`, or bring those that exist into the state of new ones."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        for statement in server_statements(app=app.name, owner=owner.name):
            _run(connection, statement)
        for account in (app, owner):
            set_password(connection, account)
        for name in databases:
            _run(connection, make_database(name, owner=owner.name))
    for name in (TEMPLATE, *databases):
        with psycopg.connect(superuser_url, dbname=name, autocommit=True) as connection:
            for statement in database_statements(name, owner=owner.name):
                _run(connection, statement)


def server_statements(*, app: str, owner: str) -> Iterator[Statement]:
    """Roles without passwords, and the template."""
    for role in (app, owner, AUDIT):
        yield Statement(
            "postgres",
            _named("CREATE ROLE {}", role),
            unless=_with("SELECT 1 FROM pg_roles WHERE rolname = {}", role),
        )
    for role, may in ((app, "LOGIN NOCREATEDB"), (owner, "LOGIN CREATEDB"), (AUDIT, "NOLOGIN")):
        limits = "NOSUPERUSER NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        yield Statement("postgres", _named(f"ALTER ROLE {{}} WITH {may} {limits}", role))
    yield Statement("postgres", _with(_NO_MEMBER, app))
    # The owner migrates the audit log, too, and ends the application's sessions at a restore.
    yield Statement("postgres", _named("GRANT {}, {} TO {}", AUDIT, app, owner))
    yield Statement(
        "postgres",
        _named("CREATE DATABASE {} TEMPLATE template0 IS_TEMPLATE true", TEMPLATE),
        unless=_with("SELECT 1 FROM pg_database WHERE datname = {}", TEMPLATE),
    )
    yield Statement("postgres", _named("REVOKE ALL ON DATABASE {} FROM PUBLIC", TEMPLATE))


def make_database(name: str, *, owner: str) -> Statement:
    """An empty database of the owner's."""
    return Statement(
        "postgres",
        _named("CREATE DATABASE {} TEMPLATE {} OWNER {}", name, TEMPLATE, owner),
        unless=_with("SELECT 1 FROM pg_database WHERE datname = {}", name),
    )


def database_statements(name: str, *, owner: str) -> Iterator[Statement]:
    """Do a superuser's part in a database: add the extension, and take from everyone what
    Postgres gives to everyone."""
    yield Statement(name, sql.SQL("CREATE EXTENSION IF NOT EXISTS vector"))
    yield Statement(name, sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"))
    # Without it nobody runs DO blocks, or makes functions in the schema of temporary tables.
    yield Statement(name, sql.SQL("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC"))
    yield Statement(name, sql.SQL(_NO_LARGE_OBJECTS))
    # A database that is made from the template has another owner: this right is inherited.
    yield Statement(name, _named("GRANT USAGE ON LANGUAGE plpgsql TO {}", owner))
    if name != TEMPLATE:
        yield Statement(name, _named("ALTER DATABASE {} OWNER TO {}", name, owner))
        yield Statement(name, sql.SQL("ALTER SCHEMA public OWNER TO pg_database_owner"))
        yield Statement(name, _with(_REASSIGN, owner, AUDIT, owner, owner, AUDIT, owner))


def as_script(statements: Sequence[Statement]) -> Iterator[str]:
    """The statements as psql takes them."""
    database = ""
    for statement in statements:
        if statement.database != database:
            database = statement.database
            yield f"\\connect {sql.Identifier(database).as_string()}"
        text = statement.text.as_string().strip()
        if statement.unless is None:
            yield f"{text};"
        else:
            unless = statement.unless.as_string()
            yield f"SELECT {sql.Literal(text).as_string()} WHERE NOT EXISTS ({unless})\\gexec"


def set_password(connection: psycopg.Connection, account: Account) -> None:
    """Only a digest of the password goes to the server, where statements may be logged."""
    digest = connection.pgconn.encrypt_password(
        account.password.encode(), account.name.encode(), b"scram-sha-256"
    )
    connection.execute(
        sql.SQL("ALTER ROLE {} PASSWORD {}").format(
            sql.Identifier(account.name), sql.Literal(digest.decode())
        )
    )


def _run(connection: psycopg.Connection, statement: Statement) -> None:
    if statement.unless is None or not connection.execute(statement.unless).fetchone():
        connection.execute(statement.text)


def _named(text: str, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))


def _with(text: str, *values: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Literal, values))


# Rights that somebody once gave to the application's role by making it a member of another.
_NO_MEMBER = """
DO $$ DECLARE given record; BEGIN
  FOR given IN SELECT roleid::regrole AS role, member::regrole AS member FROM pg_auth_members
               WHERE member = {}::regrole LOOP
    EXECUTE format('REVOKE %s FROM %s', given.role, given.member);
  END LOOP;
END $$
"""
_NO_LARGE_OBJECTS = r"""
DO $$ DECLARE function regprocedure; BEGIN
  FOR function IN SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
                  AND (proname LIKE 'lo\_%' OR proname IN ('loread', 'lowrite')) LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', function);
  END LOOP;
END $$
"""
# Tables and functions that the superuser made when it was the only role. What belongs to an
# extension stays its own, and indexes and the sequences of columns follow their tables.
_REASSIGN = """
DO $$ DECLARE command text; BEGIN
  FOR command IN
    SELECT format('ALTER TABLE public.%I OWNER TO %I', relname, {}) FROM pg_class c
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND pg_get_userbyid(relowner) NOT IN ({}, {})
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                      AND d.objid = c.oid AND d.deptype IN ('e', 'a', 'i'))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, {}) FROM pg_proc p
    WHERE pronamespace = 'public'::regnamespace AND pg_get_userbyid(proowner) NOT IN ({}, {})
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
                      AND d.objid = p.oid AND d.deptype = 'e')
  LOOP EXECUTE command; END LOOP;
END $$
"""
