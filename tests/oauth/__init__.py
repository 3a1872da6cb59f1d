"""Signing in at servers by OAuth, against an authorization server of this machine."""
