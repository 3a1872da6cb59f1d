"""Requests to servers beside calls: resources, prompts and completions, passed on with rights.

`passed_methods` says which, `forwarded_requests` is the web's part and `request_worker` the
worker's, which alone contacts servers. `definition_filter` is the gate for what comes back.
"""

__all__ = ["forwarded_requests", "passed_methods"]
