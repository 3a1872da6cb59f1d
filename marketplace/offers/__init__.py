"""Offers: what each kind of source has to offer, read from a location."""
