"""Durable work: a row is the promise, a task its reminder, and a sweep sends lost tasks again."""

__all__ = ["job_rows", "task_names", "task_queue"]
