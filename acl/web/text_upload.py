"""Uploads of small text files, as a field of forms."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

MOST_BYTES = 200_000


class TextFileField(forms.FileField):
    """An uploaded text file in UTF-8; its value is the text, "" without a file."""

    def clean(self, data: Any, initial: Any = None) -> str:
        """Return the file's text."""
        file = super().clean(data, initial)
        if not isinstance(file, UploadedFile):
            return ""
        if (file.size or 0) > MOST_BYTES:
            raise ValidationError(_("The file has more than 200 kB."))
        try:
            text: str = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as problem:
            raise ValidationError(_("The file is not a text in UTF-8.")) from problem
        if "\x00" in text:
            raise ValidationError(_("The file is not a text in UTF-8."))
        return text
