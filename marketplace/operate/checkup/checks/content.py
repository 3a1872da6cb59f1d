"""Checks of what Pegboard holds: models, vectors, sandboxes, and the last backup."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from acl.models import AuditEntry
from catalog.embedding.configured_embedder import embedder_problem
from catalog.embedding.jobs import embedding_counts
from catalog.embedding.multilingual_embedder import describe_languages
from catalog.servers.cell.report import read_report
from marketplace.operate.backups.service import BACKED_UP, RESTORED
from marketplace.operate.checkup.registry import CheckFinding, check


@check("model", gettext_lazy("Embedding model"), topic="embedding", for_readiness=True)
def model() -> CheckFinding:
    """Look whether the configured model can embed."""
    problem = embedder_problem()
    remedy = _(
        "Run `manage.py set_up`, or correct PEGBOARD_EMBEDDER. Messages go by words meanwhile."
    )
    return CheckFinding(problem, remedy if problem else "", note=describe_languages())


@check("embeddings", gettext_lazy("Vectors"), topic="embedding", for_readiness=True)
def embeddings() -> CheckFinding:
    """Count entries that could not be embedded."""
    counts = embedding_counts()
    if not (failed := counts["failed"]):
        return CheckFinding(figures=counts)
    problem = ngettext(
        "%(count)d entry could not be embedded.", "%(count)d entries could not be embedded.", failed
    )
    remedy = _("Their list in the admin says why (/admin/catalog/embedding/?vector=failed).")
    return CheckFinding(problem % {"count": failed}, remedy, figures=counts)


@check("cells", gettext_lazy("Sandboxes"), topic="outgoing#sandboxes", for_readiness=True)
def cells() -> CheckFinding:
    """Look whether programs of MCP servers run in sandboxes."""
    report = read_report()
    if not report.fails:
        return CheckFinding(note=report.words)
    remedy = _("Allow user namespaces on the machine, or set PEGBOARD_CELL to `preferred`.")
    return CheckFinding(report.words, remedy)


@check("backup", gettext_lazy("Backup"), topic="backup")
def backup() -> CheckFinding:
    """Look for a backup or restore within `PEGBOARD_BACKUP_DAYS`."""
    days = settings.PEGBOARD_BACKUP_DAYS
    if not days:
        return CheckFinding(note=_("Not watched, since PEGBOARD_BACKUP_DAYS is 0."))
    remedy = _(
        "Run `manage.py backup`, best by a schedule. Where something else backs up the database, "
        "set PEGBOARD_BACKUP_DAYS=0."
    )
    entries = AuditEntry.objects.filter(action__in=(BACKED_UP, RESTORED))
    newest = entries.order_by("-pk").values_list("at", flat=True).first()
    if newest is None:
        return CheckFinding(_("No backup has been made yet."), remedy, is_advice=True)
    age = timezone.now() - newest
    if age <= timedelta(days=days):
        return CheckFinding()
    problem = ngettext(
        "The last backup was made %(count)d day ago.",
        "The last backup was made %(count)d days ago.",
        age.days,
    )
    return CheckFinding(problem % {"count": age.days}, remedy)
