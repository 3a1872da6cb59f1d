"""Fixtures of applications: alice's group has gmail and a page of the wiki."""
