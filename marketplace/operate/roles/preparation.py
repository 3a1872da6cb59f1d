"""The superuser's preparation: roles, a template database with pgvector, and the database.

It is idempotent, and gives an existing database with its tables to the new owner. The statements
run in the embedded Postgres and in `prepare_database`, or are printed for psql.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from marketplace.operate.roles.names import AUDIT, TEMPLATE


@dataclass(frozen=True, slots=True)
class LoginRole:
    """A database role with a password."""

    name: str
    password: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement for one database, skipped if the query `unless` returns a row."""

    database: str
    text: sql.SQL | sql.Composed
    unless: sql.Composed | None = None


def prepare_server(
    superuser_url: str, *, app: LoginRole, owner: LoginRole, databases: Sequence[str]
) -> None:
    """Create the roles and `databases`, or bring existing ones into the same state."""
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        for statement in server_statements(app=app.name, owner=owner.name):
            _run(connection, statement)
        for account in (app, owner):
            set_password(connection, account)
        for name in databases:
            _run(connection, create_database_statement(name, owner=owner.name))
    for name in (TEMPLATE, *databases):
        with psycopg.connect(superuser_url, dbname=name, autocommit=True) as connection:
            for statement in database_statements(name, owner=owner.name):
                _run(connection, statement)


def server_statements(*, app: str, owner: str) -> Iterator[Statement]:
    """Yield statements for the roles, without passwords, and the template."""
    for role in (app, owner, AUDIT):
        yield Statement(
            "postgres",
            _with_names("CREATE ROLE {}", role),
            unless=_with_values("SELECT 1 FROM pg_roles WHERE rolname = {}", role),
        )
    for role, may in ((app, "LOGIN NOCREATEDB"), (owner, "LOGIN CREATEDB"), (AUDIT, "NOLOGIN")):
        limits = "NOSUPERUSER NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        yield Statement("postgres", _with_names(f"ALTER ROLE {{}} WITH {may} {limits}", role))
    yield Statement("postgres", _with_values(_REVOKE_MEMBERSHIPS, app))
    # The owner migrates the audit log too, and ends the application's sessions during a restore.
    yield Statement("postgres", _with_names("GRANT {}, {} TO {}", AUDIT, app, owner))
    yield Statement(
        "postgres",
        _with_names("CREATE DATABASE {} TEMPLATE template0 IS_TEMPLATE true", TEMPLATE),
        unless=_with_values("SELECT 1 FROM pg_database WHERE datname = {}", TEMPLATE),
    )
    yield Statement("postgres", _with_names("REVOKE ALL ON DATABASE {} FROM PUBLIC", TEMPLATE))


def create_database_statement(name: str, *, owner: str) -> Statement:
    """Return the statement that creates an empty database for the owner."""
    return Statement(
        "postgres",
        _with_names("CREATE DATABASE {} TEMPLATE {} OWNER {}", name, TEMPLATE, owner),
        unless=_with_values("SELECT 1 FROM pg_database WHERE datname = {}", name),
    )


def database_statements(name: str, *, owner: str) -> Iterator[Statement]:
    """Yield a database's statements: add the extension, and revoke Postgres's public defaults."""
    yield Statement(name, sql.SQL("CREATE EXTENSION IF NOT EXISTS vector"))
    yield Statement(name, sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"))
    # Without USAGE nobody runs DO blocks, or creates functions in the temporary schema.
    yield Statement(name, sql.SQL("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC"))
    yield Statement(name, sql.SQL(_REVOKE_LARGE_OBJECTS))
    # Databases copied from the template have another owner, and inherit this right.
    yield Statement(name, _with_names("GRANT USAGE ON LANGUAGE plpgsql TO {}", owner))
    if name != TEMPLATE:
        yield Statement(name, _with_names("ALTER DATABASE {} OWNER TO {}", name, owner))
        yield Statement(name, sql.SQL("ALTER SCHEMA public OWNER TO pg_database_owner"))
        yield Statement(name, _with_values(_REASSIGN, owner, AUDIT, owner, owner, AUDIT, owner))


def format_script(statements: Sequence[Statement]) -> Iterator[str]:
    """Format the statements for psql."""
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


def set_password(connection: psycopg.Connection, account: LoginRole) -> None:
    """Set a password. Only its SCRAM digest goes to the server, which may log statements."""
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


def _with_names(text: str, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))


def _with_values(text: str, *values: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Literal, values))


# Revoke memberships that someone once granted to the application's role.
_REVOKE_MEMBERSHIPS = """
DO $$ DECLARE given record; BEGIN
  FOR given IN SELECT roleid::regrole AS role, member::regrole AS member FROM pg_auth_members
               WHERE member = {}::regrole LOOP
    EXECUTE format('REVOKE %s FROM %s', given.role, given.member);
  END LOOP;
END $$
"""
_REVOKE_LARGE_OBJECTS = r"""
DO $$ DECLARE function regprocedure; BEGIN
  FOR function IN SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace
                  AND (proname LIKE 'lo\_%' OR proname IN ('loread', 'lowrite')) LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', function);
  END LOOP;
END $$
"""
# Tables and functions of a superuser that was once the only role. Objects of extensions keep their
# owner; indexes and the sequences of columns follow their tables.
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
