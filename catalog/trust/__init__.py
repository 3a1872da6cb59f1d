"""Trust: what a server says of its tools is scanned, compared, and pinned by a person's approval.

`pinning` says what a definition is, `reading` reads a server's answer, `scanning` looks for what
does not belong into a description, `shadowing` for what passes itself off as something else, and
`differences` shows what changed. What is decided is in `catalog/registration/definition_review.py`.
"""
