"""Pages of notification channels: a person's own, and those that admins keep for groups."""
