"""Alerts of the last day that no admin has marked as seen."""

from collections.abc import Sequence
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from acl.audit.recorder import record
from discovery.models import OutcomeAlert
from marketplace.today.section import MOST, Row, Section, read_keys

ALERTS_OF = timedelta(days=1)


def list_alerts() -> Section:
    """Return the newest alert of each window, of the last day, unless it was seen."""
    newest = OutcomeAlert.objects.filter(at__gte=Now() - ALERTS_OF)
    newest = newest.order_by("scope", "-at", "-pk").distinct("scope")
    found = [one for one in newest.select_related("group") if one.seen_at is None]
    rows = tuple(_row(one) for one in found[:MOST])
    return Section(rows, len(found), reverse("insights-outcomes"))


def _row(one: OutcomeAlert) -> Row:
    critical = one.severity == OutcomeAlert.Severity.CRITICAL
    words = _("Weighted rate %(value)s, below %(threshold)s, of %(samples)s turns.") % {
        "value": number_format(one.value, 2),
        "threshold": number_format(one.threshold, 2),
        "samples": number_format(one.samples, force_grouping=True),
    }
    return Row(
        one.group.name if one.group else _("Everyone"),
        f"{words} {date_format(localtime(one.at), 'DAY_TIME_FORMAT')}",
        reverse("insights-outcomes"),
        _("Show outcomes"),
        _("critical") if critical else _("warning"),
        "danger" if critical else "caution",
        "triangle-alert",
        choice=str(one.pk),
    )


@transaction.atomic
def mark_alerts(*, by: User, keys: Sequence[str], seen: bool) -> list[str]:
    """Mark the chosen alerts as seen, or as unseen again; return the keys of those changed."""
    rows = OutcomeAlert.objects.filter(pk__in=read_keys(keys), seen_at__isnull=seen)
    found = list(rows.order_by("pk").select_for_update())
    rows = OutcomeAlert.objects.filter(pk__in=[one.pk for one in found])
    rows.update(seen_at=Now() if seen else None)
    for one in found:
        record(by=by, action="alert.seen" if seen else "alert.unseen", target=one.scope)
    return [str(one.pk) for one in found]
