"""Chats: conversations with a real model, its tools called through the usual door."""
