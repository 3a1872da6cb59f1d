"""Fetches one source archive, in the cell of a package client. Standard library only; runs as
`python -c`, with the index's configuration in its variables.
"""

import base64
import os
import sys
import urllib.parse
import urllib.request

_BLOCK = 1024 * 1024


def main(address: str, file: str, most: int) -> None:
    """Write what is at the address to the file, if it has at most so many bytes."""
    request = urllib.request.Request(without_password(address))  # noqa: S310 - as the index says
    if password := find_password(address):
        # Another host, to which the index redirects, does not get it.
        credentials = base64.b64encode(password.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {credentials}")
    with urllib.request.urlopen(request, timeout=60) as answer, open(file, "wb") as target:  # noqa: S310, PTH123
        size = 0
        while block := answer.read(_BLOCK):
            size += len(block)
            if size > most:
                sys.exit("too large")
            target.write(block)


def without_password(address: str) -> str:
    """Return the address without the name and password that it may contain."""
    parts = urllib.parse.urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def find_password(address: str) -> str:
    """Return name and password for an address: its own, or those of the index on the same host."""
    address_parts = urllib.parse.urlsplit(address)
    index_addresses = f"{os.environ.get('UV_DEFAULT_INDEX', '')} {os.environ.get('UV_INDEX', '')}"
    for index_address in (address, *index_addresses.split()):
        parts = urllib.parse.urlsplit(index_address)
        credentials, at, host = parts.netloc.rpartition("@")
        if at and (parts.scheme, host) == (
            address_parts.scheme,
            address_parts.netloc.rpartition("@")[2],
        ):
            return urllib.parse.unquote(credentials)
    return ""


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
