"""Trust: scanning, approval and pinning of definitions from outside.

`gate` decides; `scanner` finds suspicious texts, `impersonation` finds look-alikes, and `tool_list`
identifies exactly what was approved.
"""
