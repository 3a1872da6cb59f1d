"""The parent of reference servers: it has imported what would take each of them half a second.

    python -m tests.conformance.reference_parent SOCKET

Each start hands over its streams, and gets a process of its own on them.
"""

import os
import socket
import sys
from select import select
from threading import Thread

from tests.conformance import reference_server


def main(address: str) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("listening", flush=True)  # noqa: T201 - read by the test
        # Its own input ends with whoever started it, however that ended.
        while select([listening.fileno(), 0], [], [])[0] == [listening.fileno()]:
            starter, _ = listening.accept()
            with starter:
                named, streams, *_ = socket.recv_fds(starter, 100, 3)
                if os.fork() == 0:
                    listening.close()
                    become_server(named.decode(), streams, starter)
            for stream in streams:
                os.close(stream)
            reap()


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass  # none is left


def become_server(generation: str, streams: list[int], starter: socket.socket) -> None:
    """Serve on a starter's streams until they end, or until the starter does."""
    sys.argv = [sys.argv[0], generation]
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    Thread(target=end_with, args=(starter,), daemon=True).start()
    try:
        reference_server.main(generation)
    finally:
        os._exit(0)


def end_with(starter: socket.socket) -> None:
    starter.recv(1)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
