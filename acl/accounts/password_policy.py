"""Password policy: only people have passwords, service accounts do not."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from acl.models import ServiceAccount


class PeopleOnly:
    """A validator of passwords. The database refuses a service account's, too; this is in time to
    say so beside the field, wherever a password is set."""

    def validate(self, password: str, user: User | None = None) -> None:
        """Refuse, whatever the password is."""
        if user is not None and user.pk and ServiceAccount.objects.filter(pk=user.pk).exists():
            raise ValidationError(self.get_help_text(), code="service_account")

    def get_help_text(self) -> str:
        """Return the rule's help text."""
        return "A service account has no password: it comes in by its keys."
