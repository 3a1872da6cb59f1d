"""Tests of notifications: channels, deliveries and their pages."""
