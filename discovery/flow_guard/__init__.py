"""The guard on flows: what a turn read decides whether a call runs by itself or asks a person."""
