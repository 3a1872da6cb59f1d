"""App configuration of discovery."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class DiscoveryConfig(AppConfig):
    name = "discovery"
    verbose_name = "Discovery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register this app's navigation entries, counts and lists with the pages of acl."""
        # Imported here, since models are available only once every app is loaded.
        from acl.web.frame import NavigationPlace, extensions
        from catalog.access.grant_suggestions import register_ranker
        from catalog.readiness.obstacles import BUILT_IN_TOOLS
        from catalog.readiness.readiness import register_own_tools
        from catalog.servers.secrets.sealed_values import register_sealed
        from discovery.calls.approvals import waiting_by_place
        from discovery.calls.queries import acts_context
        from discovery.calls.view import register_answer
        from discovery.mcp.answers.dispatch import answer_call
        from discovery.metatools import META_TOOLS
        from discovery.models import ChatModel
        from discovery.playground.sample_messages import first_call
        from discovery.select.helping_offers import rank_unheld

        extensions.add_places(
            NavigationPlace("playground", "Playground", "flask-conical", 10, covers=False, key="p"),
            NavigationPlace("my-tools", gettext_lazy("My tools"), "layout-grid", 20, key="t"),
            NavigationPlace("approvals", gettext_lazy("Approvals"), "list-checks", 110, key="a"),
            NavigationPlace(
                "applications",
                gettext_lazy("Applications"),
                "app-window",
                145,
                key="w",
                for_staff=True,
            ),
            NavigationPlace("calls", gettext_lazy("Calls"), "history", 220, key="o"),
            NavigationPlace("insights", gettext_lazy("Insights"), "chart-column", 230, key="n"),
        )
        register_answer(answer_call)
        register_own_tools([*META_TOOLS, *BUILT_IN_TOOLS])
        register_ranker(rank_unheld)
        register_sealed(ChatModel, "sealed_key", "key_purpose")
        extensions.count_waiting = waiting_by_place
        extensions.account_context = acts_context
        extensions.key_example = first_call
