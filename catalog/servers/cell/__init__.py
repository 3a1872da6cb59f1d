"""Cells: programs of strangers run apart from Pegboard, by bubblewrap.

A cell has namespaces of its own, sees only the files that its program needs, and reaches only the
hosts that an admin allowed. `entry` runs in the process guard, everything else in the process that
starts programs.
"""
