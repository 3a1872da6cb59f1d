"""Installing: requests, the worker's steps, updates, rollback and removal."""
