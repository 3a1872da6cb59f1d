"""States of the tasks that a newer client listens to, each told when it changes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from catalog.formats.descriptors import JSONObject
from discovery.calls.waiting import release_connection
from discovery.mcp.server._mcp_tools import UnknownToolError
from discovery.mcp.server.call_tasks import TaskRefusedError

TASK_CHANGED = "notifications/tasks"
MOST_TASKS = 10  # of one stream: each is read every second, as its client would
_LAST = frozenset({"completed", "failed", "cancelled"})
Describe = Callable[[str], JSONObject]


def _nothing(task_id: str) -> JSONObject:
    raise TaskRefusedError("There is no such task.")


@dataclass(slots=True)
class TaskStates:
    """Tasks by id with what was told of each; those that have ended are not read again.

    A task that its client may not read any more is forgotten without a word.
    """

    describe: Describe = _nothing
    _told: dict[str, JSONObject] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, named: Iterable[Any], describe: Describe) -> "TaskStates":
        """Return those of the named tasks that the client may read, the first ones only."""
        states = cls(describe)
        ids = dict.fromkeys(one for one in named if isinstance(one, str))
        states._told = {one: {} for one in list(ids)[:MOST_TASKS] if states._read(one)}
        states.names = list(states._told)
        return states

    def changed(self) -> list[JSONObject]:
        """Return the tasks that are not what was told of them, at first all."""
        if not self._told:
            return []
        found = [
            task for name, told in list(self._told.items()) if (task := self._next(name, told))
        ]
        release_connection()
        return found

    def _next(self, name: str, told: JSONObject) -> JSONObject | None:
        task = self._read(name)
        if task is None or task["status"] in _LAST:
            del self._told[name]
        else:
            self._told[name] = task
        return task if task != told else None

    def _read(self, name: str) -> JSONObject | None:
        try:
            task = self.describe(name)
        except (TaskRefusedError, UnknownToolError):
            return None
        task.pop("resultType", None)
        return task
