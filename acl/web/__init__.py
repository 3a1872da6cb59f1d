"""Shared by all edges: authentication, limits, strict bodies, problems, and the frame of pages.

It knows no subject.
"""
