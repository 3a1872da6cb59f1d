"""The append-only audit log: recording, reading, checking its chain, and exporting it."""
