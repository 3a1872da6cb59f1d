"""Steps of a sign-in: the person's on pages, and the worker's."""

from datetime import timedelta

import httpx2
from django.db import connection
from django.test import Client

from catalog.models import OAuthSignIn
from catalog.servers.oauth.sign_in import finish_sign_in, prepare_sign_in


def begin(client: Client, path: str = "/integrations/mail/sign-in/") -> OAuthSignIn:
    """Press the button, and let the worker prepare."""
    assert client.post(path).status_code == 302
    row = OAuthSignIn.objects.latest("pk")
    prepare_sign_in(row.pk)
    row.refresh_from_db()
    return row


def go_there(client: Client, row: OAuthSignIn) -> str:
    """Follow the link to the authorization server, which redirects back at once."""
    page = client.get(f"/connections/{row.public_id}/")
    answer = httpx2.get(page.context["there"], follow_redirects=False)
    return answer.headers["Location"].removeprefix("http://testserver")


def sign_in(client: Client, path: str = "/integrations/mail/sign-in/") -> OAuthSignIn:
    """Run the whole sign-in."""
    row = begin(client, path)
    client.get(go_there(client, row))
    finish_sign_in(row.pk)
    row.refresh_from_db()
    return row


def later(row: OAuthSignIn, by: timedelta = timedelta(minutes=2)) -> None:
    """Advance the time."""
    OAuthSignIn.objects.filter(pk=row.pk).update(created_at=row.created_at - by)


def everything_stored() -> str:
    """Return all columns of all tables as text."""
    with connection.cursor() as cursor:
        texts = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT string_agg(row::text, chr(10)) FROM "{table}" AS row')  # noqa: S608
            texts.append(str(cursor.fetchone()[0]))
    return "\n".join(texts)
