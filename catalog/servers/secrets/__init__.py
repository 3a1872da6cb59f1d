"""Secrets of integrations: written by anybody who may, read by workers only, never told again."""
