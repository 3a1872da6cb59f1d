"""Runtime capabilities: made, replaced and retired by API, through the gate."""
