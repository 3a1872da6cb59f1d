"""Tasks: a person's to-do list, with deadlines."""

from typing import Any

from django.db.models import F, QuerySet

from catalog.built_ins.base import (
    RowOwner,
    Toolbox,
    ToolError,
    delete_keys,
    read_day,
    save_new,
    search_words,
)
from catalog.formats.descriptors import JSONObject
from catalog.models import Todo

SLUG = "tasks"
TOOLS = Toolbox()
_ME = {"", "me"}


def _describe(todo: Todo) -> dict[str, Any]:
    values = {
        "id": todo.key,
        "title": todo.title,
        "status": todo.status,
        "priority": todo.priority,
        "assignee": todo.assignee or "me",
    }
    due = {"due": todo.due.isoformat()} if todo.due else {}
    return values | due | ({"notes": todo.notes} if todo.notes else {})


def _find(arguments: JSONObject, owner: RowOwner) -> Todo:
    todo = Todo.objects.filter(user_id=owner.require(), key=arguments["task_id"]).first()
    if todo is None:
        raise ToolError("There is no task of that id on your list. Ask for the list first.")
    return todo


def _name(assignee: Any) -> str:
    return "" if str(assignee or "").strip().lower() in _ME else str(assignee).strip()


@TOOLS.add("list")
def _list(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    todos: QuerySet[Todo] = Todo.objects.filter(user_id=owner.require())
    status = arguments.get("status", "open")
    if status == "open":  # everything that is not done is still open to the person
        todos = todos.exclude(status=Todo.Status.DONE)
    elif status != "all":
        todos = todos.filter(status=status)
    if "assignee" in arguments:
        todos = todos.filter(assignee__iexact=_name(arguments["assignee"]))
    if day := read_day(arguments.get("due_before")):
        todos = todos.filter(due__lte=day)
    todos = todos.order_by(F("due").asc(nulls_last=True), "-created_at", "-pk")
    if query := arguments.get("query"):
        todos = search_words(todos, query, "title", "notes")
    rows = [_describe(todo) for todo in todos[: int(arguments.get("limit", 50))]]
    return {"tasks": rows}


@TOOLS.add("create")
def _create(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    todo = save_new(
        Todo,
        user_id=owner.require(),
        title=arguments["title"],
        notes=arguments.get("notes", ""),
        due=read_day(arguments.get("due")),
        assignee=_name(arguments.get("assignee")),
        priority=arguments.get("priority", Todo.Priority.NORMAL),
    )
    return _describe(todo)


@TOOLS.add("update_status")
def _update_status(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    todo = _find(arguments, owner)
    todo.status = arguments["status"]
    if comment := arguments.get("comment"):
        longest = Todo._meta.get_field("notes").max_length
        todo.notes = f"{todo.notes}\n{comment}".strip()[:longest]
    todo.save(update_fields=["status", "notes"])
    return _describe(todo)


@TOOLS.add("edit")
def _edit(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    todo = _find(arguments, owner)
    values: JSONObject = {
        name: arguments[name] for name in ("title", "priority") if name in arguments
    }
    if "due" in arguments:
        values["due"] = read_day(arguments["due"])
    if "assignee" in arguments:
        values["assignee"] = _name(arguments["assignee"])
    for name, value in values.items():
        setattr(todo, name, value)
    todo.save(update_fields=[*values])
    return _describe(todo)


@TOOLS.add("delete")
def _delete(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    todo = _find(arguments, owner)
    delete_keys(Todo, user_id=owner.require(), keys=[todo.key])
    return {"deleted": todo.title}
