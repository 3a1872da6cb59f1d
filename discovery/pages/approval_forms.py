"""What is said to a call that waits."""

from django import forms


class ApproveForm(forms.Form):
    """A yes to what was shown."""

    digest = forms.CharField(max_length=64)
    note = forms.CharField(required=False, max_length=500)


class RejectForm(forms.Form):
    """A no, with the reason for it."""

    note = forms.CharField(
        max_length=500, error_messages={"required": "Say why, so that they know what to do."}
    )
