"""What a prompt says about capabilities, in three tiers with a budget each: which categories there
are, a line about what fits the message, and the foremost of that in full.

The modules here are plain functions over plain values, but for `state`, which reads.
"""
