"""Chat APIs of model providers, a file each in one shape."""
