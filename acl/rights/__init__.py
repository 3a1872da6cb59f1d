"""The rights rule: what a caller may use, as one SQL statement, and who may use one capability."""
