"""The bench: conversations with a real model, its tools called through the usual door."""

__all__ = ["chat_view", "chat_work", "chats", "models"]
