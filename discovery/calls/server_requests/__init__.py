"""Requests to servers beside calls: resources, prompts and completions, passed on with rights.

`passed_methods` says which, `forwarded_requests` is the web's part and `request_worker` the
worker's, which alone contacts servers. `definition_filter` is the gate for what comes back.
`change_channel` is what a client's stream and the worker's `server_watches` share.
"""
