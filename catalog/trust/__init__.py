"""Trust: scanning, approval and pinning of definitions from outside.

`gate` decides; `scanner` finds suspicious texts, `impersonation` finds look-alikes, and
`fingerprint` identifies exactly what was approved.
"""
