"""Relations between capabilities: stored when definitions change, read per caller."""
