"""Caller of a request: a person, one of their groups, and one of its spaces."""

from acl.http.strict_serializer import StrictSerializer, Text


class CallerSerializer(StrictSerializer):
    """Caller named in a request."""

    user = Text(
        max_length=150,
        required=False,
        allow_blank=True,
        help_text="The user's name. Without it the key's owner, or the person logged in.",
    )
    group = Text(
        max_length=150,
        required=False,
        allow_blank=True,
        help_text="The group's name. A key acts in its own group only.",
    )
    space = Text(
        max_length=60,
        required=False,
        allow_blank=True,
        help_text="The space's slug; without it the group's root.",
    )
