"""Messages that no tool of a catalogue serves, and messages that one serves, by its id.

They were written for people's jobs, without looking at scores, by the author of the common
abilities. `part` says on which half the threshold was chosen (`dev`) and which half it is reported
on (`test`). Failures in both halves were looked at before the list of abilities was extended, so
`test` is no clean hold-out.

The hold-outs were written after the thresholds were frozen: `holdout1` and `holdout2` by that
author, `holdout3` by another one for people's jobs, `holdout4` by that one on topics drawn at
random from a public set of tools (without a tool) and from each catalogue (with one).
"""
