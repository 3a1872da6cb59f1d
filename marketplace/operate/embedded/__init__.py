"""Embedded servers and programs of `make run`, and their supervisor."""
