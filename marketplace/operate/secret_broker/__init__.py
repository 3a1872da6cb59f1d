"""The secrets broker: the one process with the encryption keys, which opens a secret at a time."""
