"""Listings: what the marketplace offers, stored, indexed, searched and shown."""
