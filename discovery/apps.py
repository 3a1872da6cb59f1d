"""Choosing and using: the selector and what grows around it."""

from django.apps import AppConfig


class DiscoveryConfig(AppConfig):
    name = "discovery"
    verbose_name = "Discovery"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Add this app's places, counts and lists to the pages of people and keys."""
        # Here, since tables can be named once every app is loaded.
        from acl.pages.extensions import Place, extensions
        from discovery.calls.approvals import waiting_by_place
        from discovery.calls.call_queries import acts_of_others
        from discovery.calls.own_tools import register_answer
        from discovery.gateway.answers.dispatch import answer_call
        from discovery.pages.first_call import first_call

        extensions.add_places(
            Place("playground", "Playground", "flask-conical", 10, covers=False, key="p"),
            Place("my-tools", "My tools", "layout-grid", 20, key="t"),
            Place("approvals", "Approvals", "list-checks", 40, key="a"),
            Place("insights", "Insights", "chart-column", 50, key="n"),
        )
        register_answer(answer_call)
        extensions.count_waiting = waiting_by_place
        extensions.account_context = acts_of_others
        extensions.key_example = first_call
