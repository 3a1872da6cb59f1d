"""Where a test's own server may listen."""

import socket


def free_port() -> int:
    """A port of loopback that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
