"""Messages that no tool of a catalogue serves, and messages that one serves, by its id.

They were written for people's jobs, without looking at scores, by the author of the common
abilities. `part` says on which half the threshold was chosen (`dev`) and which half it is reported
on (`test`). Failures in both halves were looked at before the list of abilities was extended, so
`test` is no clean hold-out.
"""
