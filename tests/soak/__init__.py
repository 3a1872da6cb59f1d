"""Evil servers beside a healthy one: in full by `make soak`, shortened in `make test`."""
