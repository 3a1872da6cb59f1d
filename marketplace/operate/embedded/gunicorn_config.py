"""How gunicorn serves Pegboard, in `make run` and in the container.

gunicorn reads the names in this module as its settings; its own environment variables
(WEB_CONCURRENCY, GUNICORN_CMD_ARGS) still count.
"""

import os

from marketplace.operate.embedded.graceful_stop import ignore_attempts_at_the_end

worker_class = "marketplace.operate.embedded.graceful_stop.DrainingWorker"
logger_class = "marketplace.config.server_log.ServerLog"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
# Long-polling requests are among them; discovery/calls/call_wait.py lets half of them wait.
threads = 8
# The code is loaded once and shared by the processes; connections are made after the fork.
preload_app = True
timeout = 60
graceful_timeout = 30  # longer than a request waits for a tool (PEGBOARD_CALL_WAIT_SECONDS)
keepalive = 5
sendfile = False  # so that a client that reads slowly has a deadline (reception.py)
control_socket_disable = True  # nobody asks it, and it would write into the home folder
when_ready = ignore_attempts_at_the_end  # arranged for before the other processes begin
accesslog = None  # the application's own log has the requests


def post_worker_init(worker: object) -> None:
    """Load the embedding model and its examples before the first request needs them; nothing of it
    is garbage."""
    # Only here, because the applications are loaded by now.
    from django.db import connections

    from acl.platform.garbage_collection import settle
    from catalog.embedding.configured_embedder import warm_embedder
    from discovery.select.small_talk import warm_small_talk

    warm_embedder()
    warm_small_talk()
    connections.close_all()
    settle()
