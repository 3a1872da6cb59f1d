"""The proxy of a package client's cell, from a thread that waits for the client.

It runs on the connections' event loop, and reaches the package indexes only.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2

from catalog.servers.cell.cell_plan import Cell
from catalog.servers.cell.egress_proxy import CellProxy
from catalog.servers.connections.event_loop import connection_loop
from catalog.servers.net.address_check import AllowedHosts
from marketplace.installs.packages.index_hosts import Hosts


@contextmanager
def open_proxy(cell: Cell, hosts: Hosts) -> Iterator[CellProxy]:
    """Open a proxy; its `serve` runs once the client has started."""
    # By name alone: the operator configured these indexes, wherever a mirror has them.
    proxy = CellProxy(cell, httpcore2.AnyIOBackend(), AllowedHosts(frozenset(hosts)))
    connection_loop.run(lambda _: proxy.__aenter__())
    try:
        yield proxy
    finally:
        connection_loop.run(lambda _: proxy.close())
        connection_loop.run(lambda _: proxy.__aexit__(None, None, None))


def serve(proxy: CellProxy) -> None:
    """Begin to answer, without waiting."""
    connection_loop.begin(lambda _: proxy.serve())
