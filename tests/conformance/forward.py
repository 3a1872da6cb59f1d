"""Client program of the conformance suite: the test does what it asks.

    python -I -S forward.py PORT-OF-THE-TEST ADDRESS-OF-THE-SCENARIO

The suite starts all scenarios at once, so each program is kept small.
"""

import os
import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as test:
    name = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context = os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")
    test.sendall("\n".join((sys.argv[2], name, context)).encode())
    test.shutdown(socket.SHUT_WR)
    while told := test.recv(65_536):
        sys.stdout.write(told.decode(errors="replace"))
