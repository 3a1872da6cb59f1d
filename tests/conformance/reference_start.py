"""The start of a reference server, which `reference_parent.py` makes of a child of its own.

python -I reference_start.py SOCKET legacy|modern
"""

import socket
import sys

with socket.socket(socket.AF_UNIX) as parent:
    parent.connect(sys.argv[1])
    socket.send_fds(parent, [sys.argv[2].encode()], [0, 1, 2])
    parent.recv(1)  # until the server ends
