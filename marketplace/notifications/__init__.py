"""Notifications: channels of people and groups, and deliveries that outlive a restart."""
