"""Watches of this process: what sessions of clients hear of changes at servers.

A watch lasts as long as its client listens and may use the server. A lost connection is built
again; a watch whose process ends is begun anew when the client listens again.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import structlog
from django.db import connection

from acl.platform.database_work import retry_on_lost_connection
from acl.platform.strict_json import write_json
from catalog.formats.descriptors import JSONObject
from catalog.servers.client.server_problems import Reason, ServerProblemError
from catalog.servers.connections.server_requests import ServerWatch, begin_watch
from catalog.servers.secrets.encryption_keys import SecretUnavailableError
from discovery.calls.channel import ListenerThread
from discovery.calls.server_requests.change_channel import (
    MOST_CHANGES,
    MOST_RESOURCES,
    add_resources,
    claim,
    give_up,
    is_listening,
    keep_listening,
    push_change,
    remove_resources,
    stop_listening,
    watched_resources,
    watcher_of,
)
from discovery.calls.server_requests.forwarding import is_permitted
from discovery.models import ServerRequest

# Of one process, and of one person in it.
MOST, MOST_OF_ONE = 100, 10
MOST_CHARACTERS = 4_096  # of a change
TEND_SECONDS = 5.0
_INVALID_PARAMS = -32602
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Watching:
    """A session's watch: the request that it goes back to, and what is not yet passed on."""

    request: ServerRequest
    number: int
    uris: frozenset[str]
    watch: ServerWatch | None = None
    waiting: set[str] = field(default_factory=set)
    is_over: bool = False

    def end(self) -> None:
        self.is_over = True
        if self.watch is not None:
            self.watch.running.cancel()


class ServerWatches(ListenerThread):
    """The watches of this process, and the thread that tends them."""

    def __init__(self) -> None:
        super().__init__("watches")
        self.name = uuid4().hex
        self._lock = threading.Lock()
        self._watching: dict[str, _Watching] = {}
        self._number = 0

    def change(self, request: ServerRequest) -> Future[JSONObject]:
        """Watch what the session wants after this request; the answer is {}.

        Raises ServerProblemError if it wants too much.
        """
        session, uris = request.params["session"], frozenset(request.params.get("uris", ()))
        watched = watched_resources(session)
        if request.method == "resources/unsubscribe":
            remove_resources(session, *uris)
            return self._watch(request, session, watched - uris, frozenset())
        self._check_room(request, session, watched | uris)
        add_resources(session, *uris)
        keep_listening(session)
        return self._watch(request, session, watched | uris, uris - watched)

    def stop(self) -> None:
        """End all watches."""
        super().stop()
        self.end_all()

    def end_all(self) -> None:
        """End all watches, and their clients' streams."""
        for session in list(self._watching):
            self._end(session)

    def tend(self) -> None:
        """End watches that nobody listens to or that are not permitted, and renew lost ones."""
        for session, watching in list(self._watching.items()):
            if not is_listening(session) or watcher_of(session) not in ("", self.name):
                self._drop(session)
            elif not is_permitted(watching.request):
                self._end(session)
                stop_listening(session)
            else:
                claim(session, self.name)
                if watching.watch is None or watching.watch.running.done():
                    self._renew(session, watching)

    def _listen(self) -> None:
        while not self._over.wait(TEND_SECONDS):
            if not self._watching:
                continue
            try:
                retry_on_lost_connection(self.tend)
            except Exception:
                log.exception("watches could not be tended")
            finally:
                connection.close()

    def _check_room(self, request: ServerRequest, session: str, uris: frozenset[str]) -> None:
        """Refuse too much; a person's newest sessions take the place of the oldest."""
        if len(uris) > MOST_RESOURCES:
            raise _refusal(f"A session watches at most {MOST_RESOURCES} resources.")
        others = {key: watching for key, watching in list(self._watching.items()) if key != session}
        keys = [
            key for key, watching in others.items() if watching.request.user_id == request.user_id
        ]
        if len(keys) >= MOST_OF_ONE:
            self._end(min(keys, key=lambda key: others[key].number))
        elif len(others) >= MOST:
            raise _refusal("Too many clients watch resources. Try again later.")

    def _watch(
        self, request: ServerRequest, session: str, uris: frozenset[str], news: frozenset[str]
    ) -> Future[JSONObject]:
        with self._lock:
            self._number += 1
            watching = _Watching(request, self._number, uris)
        try:
            watching.watch = self._begin(session, watching)
        except (ServerProblemError, SecretUnavailableError):
            remove_resources(session, *news)
            raise
        claim(session, self.name)
        ready: Future[JSONObject] = Future()
        settle = partial(self._settle, session, watching, news, ready)
        watching.watch.ready.add_done_callback(settle)
        return ready

    def _begin(self, session: str, watching: _Watching) -> ServerWatch:
        request = watching.request
        hear = partial(self._hear, session, watching)
        return begin_watch(request.integration, watching.uris, hear, user_id=request.user_id)

    def _settle(
        self,
        session: str,
        watching: _Watching,
        news: frozenset[str],
        ready: Future[JSONObject],
        agreed: Future[JSONObject],
    ) -> None:
        """Replace the session's older watch, or keep it where the server refused the new one."""
        if (problem := agreed.exception()) is not None:
            _pushing.submit(remove_resources, session, *news)
            ready.set_exception(problem)
            return
        with self._lock:
            previous = self._watching.get(session)
            is_newest = previous is None or previous.number < watching.number
            if is_newest:
                self._watching[session] = watching
            older = previous if is_newest else watching
        if older is not None:
            older.end()
        ready.set_result({})

    def _renew(self, session: str, watching: _Watching) -> None:
        # Refused again, it is tried again: connections have a back-off of their own.
        with suppress(ServerProblemError, SecretUnavailableError):
            watching.watch = self._begin(session, watching)

    def _hear(self, session: str, watching: _Watching, method: str, params: JSONObject) -> None:
        """Pass a change on, unless too many wait. Called on the connections' loop."""
        message = {"method": method, "params": params}
        text = write_json(message)
        is_too_much = len(text) > MOST_CHARACTERS or len(watching.waiting) >= MOST_CHANGES
        if watching.is_over or text in watching.waiting or is_too_much:
            return
        watching.waiting.add(text)
        with suppress(RuntimeError):  # the process is ending
            _pushing.submit(self._push, session, watching, text, message)

    def _push(self, session: str, watching: _Watching, text: str, message: JSONObject) -> None:
        watching.waiting.discard(text)

        def push() -> None:
            if is_permitted(watching.request) and not watching.is_over:
                push_change(session, message)

        try:
            retry_on_lost_connection(push)
        except Exception:
            log.exception("change could not be passed on")
        finally:
            connection.close()

    def _drop(self, session: str) -> None:
        with self._lock:
            watching = self._watching.pop(session, None)
        if watching is not None:
            watching.end()

    def _end(self, session: str) -> None:
        self._drop(session)
        give_up(session)


def _refusal(message: str) -> ServerProblemError:
    error = {"code": _INVALID_PARAMS, "message": message}
    return ServerProblemError(Reason.REFUSED, message, error=error)


server_watches = ServerWatches()
# One thread keeps the order of changes; the loop must not wait for Redis or Postgres.
_pushing = ThreadPoolExecutor(1, thread_name_prefix="changes")
