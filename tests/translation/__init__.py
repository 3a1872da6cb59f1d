"""Translation: every text of the pages goes through a catalogue of messages."""
