"""Notifications: channels of people and groups, and deliveries that outlive a restart."""

__all__ = ["channels", "mail_sender", "pages"]
