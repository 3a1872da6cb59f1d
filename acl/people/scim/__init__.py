"""SCIM 2.0: people and groups, managed by an identity provider's client with a key."""
