"""Access: who may use what, for admins. Everybody else is told that there is no such page."""
