"""Mail, which the worker that knows the mail server sends: see `deliveries`."""

from django.utils.translation import gettext_lazy

LABEL = gettext_lazy("Mail")
