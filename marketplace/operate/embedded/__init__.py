"""The servers that `make run` starts by itself, and the supervisor that keeps them."""
