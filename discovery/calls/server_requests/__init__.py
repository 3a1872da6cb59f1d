"""Requests to servers beside calls: resources, prompts and completions, passed on with rights.

`forwarding` is the web's part, and `worker` the part of the one process that contacts servers, with
the gate for what comes back. `change_channel` is what a client's stream and `watches` share.
"""
