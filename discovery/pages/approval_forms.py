"""Forms for decisions about pending calls."""

from django import forms


class ApproveForm(forms.Form):
    """Approval of a call as displayed."""

    digest = forms.CharField(max_length=64)
    note = forms.CharField(required=False, max_length=500)


class RejectForm(forms.Form):
    """Rejection of a call, with a reason."""

    note = forms.CharField(
        max_length=500, error_messages={"required": "Say why, so that they know what to do."}
    )
