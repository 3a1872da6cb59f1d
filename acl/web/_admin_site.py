"""The admin site: Unfold's, with a search and a content policy of its own."""

import time
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.apps import BasicAppConfig
from unfold.sites import UnfoldAdminSite

PER_PAGE = 100


class PegboardAdminSite(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no types
    """Unfold's search keeps its results in Django's cache for five minutes. They hold model
    classes, and our cache takes JSON only; results that are kept would also outlive a right."""

    def search(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Find the admin's lists by name, among those that this person may view."""
        began = time.monotonic()
        term = request.GET.get("s", "").strip().lower()
        if not term:
            return HttpResponse()
        results = self._search_apps(self.get_app_list(request), term)
        pages = Paginator([result for result in results if result.link], PER_PAGE)
        page = pages.get_page(request.GET.get("page"))
        name = "command_results" if "extended" in request.GET else "search_results"
        context = {
            "page_obj": pages,
            "results": page,
            "page_counter": (page.number - 1) * PER_PAGE,
            "execution_time": time.monotonic() - began,
        }
        return TemplateResponse(
            request, f"unfold/helpers/{name}.html", context, headers={"HX-Trigger": "search"}
        )


class UnfoldConfig(BasicAppConfig):  # type: ignore[misc]  # unfold has no types
    """Unfold, with our site in place of its own."""

    def ready(self) -> None:
        from django.contrib import admin  # apps are loaded only now

        admin.site = admin.sites.site = PegboardAdminSite()
