"""The scan of texts typed by admins: findings must be approved."""

from typing import Any, ClassVar

from django import forms

from acl.platform.stored_texts import translate_stored
from catalog.trust.findings import requires_review
from catalog.trust.scanner import scan_definition


class GatedForm(forms.ModelForm):
    """A form with a scan: suspicious texts need the admin's approval."""

    gated: ClassVar[tuple[str, ...]] = ()
    approve_findings = forms.BooleanField(
        required=False,
        label="Approve the findings",
        help_text="Only needed where a text was refused for what was found in it.",
    )

    def clean(self) -> dict[str, Any]:
        """Scan the changed texts."""
        values: dict[str, Any] = super().clean() or {}
        for name in self.gated:
            text = str(values.get(name, ""))
            # Also scan as words: categories are written with hyphens.
            findings = scan_definition({name: text, "words": text.replace("-", " ")})
            if (
                name in self.changed_data
                and requires_review(findings)
                and not values["approve_findings"]
            ):
                message = " ".join(
                    dict.fromkeys(translate_stored(finding.told) for finding in findings)
                )
                self.add_error(
                    name, f"{message} Approve the findings below, or write it differently."
                )
        return values
