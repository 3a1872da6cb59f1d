"""Training the default encoder on labelled sets, by hand. A running Pegboard needs none of it."""
