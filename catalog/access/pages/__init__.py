"""The Access pages, for admins. Everyone else gets 404."""
