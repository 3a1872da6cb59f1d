"""Problems of declared icons, for the page of an integration."""

from django.conf import settings
from django.utils.translation import gettext as _

from catalog.models import IconSource


def icon_problem(source: IconSource | None) -> str:
    """Return the reason that the icon is not shown, as stored in English, or ""."""
    if source is None or (source.state == IconSource.State.READY and source.image_id):
        return ""
    if source.state == IconSource.State.FAILED:
        return source.problem
    if not settings.PEGBOARD_FETCH_ICONS and not source.is_data:
        return _("It declares an icon, but icons are not fetched here.")
    return _("Its icon waits to be read.")
