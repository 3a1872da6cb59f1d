"""The filters of the audit log."""

from django import forms

from acl.audit.audit_log import WantedEntries

DAY = {"required": False, "error_messages": {"invalid": "Write a day as 2026-11-30."}}


class AuditForm(forms.Form):
    """Filters of the audit log. An invalid day is an error; other invalid values do not filter."""

    by = forms.CharField(required=False, max_length=150)
    action = forms.CharField(required=False, max_length=60)
    target = forms.CharField(required=False, max_length=200)
    since = forms.DateField(**DAY)  # type: ignore[arg-type]
    until = forms.DateField(**DAY)  # type: ignore[arg-type]
    before = forms.IntegerField(required=False, min_value=0, max_value=2**62)
    after = forms.IntegerField(required=False, min_value=0, max_value=2**62)

    def wanted(self) -> WantedEntries:
        """The filters as the service takes them."""
        self.full_clean()
        data = self.cleaned_data
        names = ("by", "action", "target")
        return WantedEntries(
            **{name: data.get(name, "") for name in names},
            since=data.get("since"),
            until=data.get("until"),
        )

    def place(self) -> dict[str, int | None]:
        """Beside which entry the page begins."""
        return {name: self.cleaned_data.get(name) for name in ("before", "after")}
