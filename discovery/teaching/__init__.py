"""Teaching: messages with their right tools that admins confirm, learned from the first day."""
