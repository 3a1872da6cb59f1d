"""Adapters of django-allauth: accounts, sign-in codes and OpenID Connect providers."""

__all__ = ["account_adapter", "code_adapter", "provider_adapter"]
