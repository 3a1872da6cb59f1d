"""Adapters of django-allauth: accounts, sign-in codes and OpenID Connect providers."""
