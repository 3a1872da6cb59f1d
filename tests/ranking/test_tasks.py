"""Tasks of several steps: the file that the measurement reads."""

from tests.ranking.tasks import read_servers, read_tasks


def test_tasks_are_told_apart_and_imply_only_tools_that_they_take() -> None:
    tasks = read_tasks()

    assert len(tasks) == len({task["qid"] for task in tasks}) == 120
    assert len({task["query"].lower() for task in tasks}) == 120
    assert all(set(task["implied"]) <= set(task["relevant"]) for task in tasks)
    assert all(len(set(task["relevant"])) == len(task["relevant"]) >= 2 for task in tasks)
    assert len(read_servers()) == 60
