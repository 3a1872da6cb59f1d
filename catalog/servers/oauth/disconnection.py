"""Revocation of tokens whose account is removed, alone or with its integration or user."""

from acl.platform.jobs.task_names import REVOKE_TOKEN
from acl.platform.jobs.task_queue import send_on_commit
from catalog.models import OAuthClient, OAuthConnection, OAuthRevocation, Secret
from catalog.models.secret import CLIENT, TOKEN


def store_revocation(sender: type[OAuthConnection], instance: OAuthConnection, **_: object) -> None:
    """Store a token's revocation request before its account is deleted.

    Only workers decrypt secrets, so the row keeps them sealed. Nothing is stored if the server has
    no revocation endpoint or the client belongs to another issuer by now.
    """
    secrets = Secret.objects.filter(integration=instance.integration_id)
    token = secrets.filter(user=instance.user_id, name=TOKEN).first()
    clients = OAuthClient.objects.filter(integration=instance.integration_id)
    client = clients.filter(issuer=instance.issuer).first()
    if not instance.revocation_endpoint or token is None or client is None:
        return
    proof = secrets.filter(user=None, name=CLIENT).first()
    row = OAuthRevocation.objects.create(
        endpoint=instance.revocation_endpoint,
        client_id=client.client_id,
        auth_method=client.auth_method or "none",
        sealed_token=bytes(token.sealed),
        token_purpose=token.purpose,
        sealed_client=bytes(proof.sealed) if proof else b"",
        client_purpose=proof.purpose if proof else "",
    )
    send_on_commit(REVOKE_TOKEN, row.pk)
