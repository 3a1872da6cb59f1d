"""The right to act for other people in a session."""

from django.contrib.auth.models import User

ACT_FOR_OTHERS = "acl.act_for_others"


def acts_for_others(person: User) -> bool:
    """Return True for staff who have the permission. Superusers have every permission."""
    return person.is_active and person.is_staff and person.has_perm(ACT_FOR_OTHERS)
