"""Durable work: a row is the promise, a task its reminder, and a sweep sends lost tasks again."""
