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
    def of(cls, task_ids: Iterable[Any], describe: Describe) -> "TaskStates":
        """Return those of the named tasks that the client may read, the first ones only."""
        states = cls(describe)
        ids = dict.fromkeys(task_id for task_id in task_ids if isinstance(task_id, str))
        states._told = {task_id: {} for task_id in list(ids)[:MOST_TASKS] if states._read(task_id)}
        states.names = list(states._told)
        return states

    def changed(self) -> list[JSONObject]:
        """Return the tasks that are not what was told of them, at first all."""
        if not self._told:
            return []
        tasks = [
            task
            for name, last_state in list(self._told.items())
            if (task := self._next(name, last_state))
        ]
        release_connection()
        return tasks

    def _next(self, name: str, last_state: JSONObject) -> JSONObject | None:
        task = self._read(name)
        if task is None or task["status"] in _LAST:
            del self._told[name]
        else:
            self._told[name] = task
        return task if task != last_state else None

    def _read(self, name: str) -> JSONObject | None:
        try:
            task = self.describe(name)
        except (TaskRefusedError, UnknownToolError):
            return None
        task.pop("resultType", None)
        return task
