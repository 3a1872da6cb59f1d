"""Write every generated page of docs/, and the list of stored messages: `python -m tests.docs`."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "marketplace.config.settings")
django.setup()

from tests.docs import (  # noqa: E402 - they need Django set up
    atlas_page,
    client_types,
    escapes_table,
    reference_page,
    rights_page,
    settings_page,
    typescript_types,
)
from tests.translation import stored_messages  # noqa: E402

settings_page.PAGE.write_text(settings_page.render_settings(), "utf-8")
reference_page.PAGE.write_text(reference_page.render_reference(), "utf-8")
for access_page in rights_page.PAGES:
    access_page.write_text(rights_page.render_access(access_page), "utf-8")
description = client_types.read_description()
components = description["components"]["schemas"]
client_types.MODULE.write_text(client_types.render_types(components), "utf-8")
typescript_types.MODULE.write_text(typescript_types.render_types(description), "utf-8")
escapes_table.PAGE.write_text(escapes_table.render_trust(), "utf-8")
atlas_page.PAGE.write_text(atlas_page.render_atlas(), "utf-8")
stored_messages.write_module()
