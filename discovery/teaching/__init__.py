"""Teaching: messages with their right tools that admins confirm, learned from the first day."""

__all__ = ["message_proposals", "taught_experiences", "taught_messages"]
