"""Teaches the default model what a person's request and a tool's definition have to do with each
other. Run by hand, on labelled sets; a running Pegboard needs nothing of it."""
