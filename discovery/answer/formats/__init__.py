"""Tool formats of the providers' APIs, a file for each format.

Lists are sorted by full name: the same tools give the same bytes, which keeps a provider's prompt
cache valid.
"""
