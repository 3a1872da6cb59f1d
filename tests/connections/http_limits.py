"""Limits that end a request to a misbehaving server soon."""

from catalog.servers.client.targets import ServerLimits

QUICK = ServerLimits(
    connect_seconds=5,
    list_seconds=5,
    call_seconds=5,
    goodbye_seconds=0.2,
    unsolicited_messages=200,
    body_bytes=1_000_000,
)
