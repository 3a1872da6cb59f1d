"""A simulated later release: an app whose one migration only adds."""
