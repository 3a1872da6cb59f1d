"""Forms of a page, as a browser would send them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

from django.http import QueryDict


@dataclass
class Form:
    """A form's address and the values of its fields."""

    action: str
    fields: QueryDict = field(default_factory=lambda: QueryDict(mutable=True))
    names: set[str] = field(default_factory=set)  # including unchecked and unselected ones

    @property
    def sends(self) -> str:
        """All that the form sends and could send, except its token, which is new on each page."""
        fields = self.fields.copy()
        fields.pop("csrfmiddlewaretoken", None)
        return f"{self.action} {fields.urlencode()} {sorted(self.names)}"


def post_forms(html: str, address: str) -> list[Form]:
    """Return all forms of the page at `address` that are posted to this site."""
    reader = _Reader(address)
    reader.feed(html)
    return [form for form in reader.forms if form.action.startswith("/")]


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._address = address
        self._form: Form | None = None
        self._select: str | None = None
        self._textarea: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            posted = given.get("method", "get").lower() == "post"
            self._form = Form(urljoin(self._address, given.get("action", ""))) if posted else None
            if self._form:
                self.forms.append(self._form)
        if self._form is not None and tag in {"input", "button", "select", "textarea"}:
            self._form.names.add(given.get("name", ""))
        if self._form is None or ("disabled" in given and tag != "option"):
            return
        if tag in {"input", "button"}:
            self._add(given, tag)
        elif tag == "select":
            self._select = given.get("name")
        elif tag == "option" and self._select and "selected" in given:
            self._form.fields.appendlist(self._select, given.get("value", ""))
        elif tag == "textarea":
            self._textarea, self._text = given.get("name"), ""

    def _add(self, given: dict[str, str], tag: str) -> None:
        kind = given.get("type", "text" if tag == "input" else "submit")
        name = given.get("name", "")
        left_out = kind in {"checkbox", "radio"} and "checked" not in given
        if self._form and name and not left_out and kind not in {"submit", "file", "image"}:
            self._form.fields.appendlist(name, given.get("value", "on"))

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._form and self._textarea:
            self._form.fields.appendlist(self._textarea, self._text.removeprefix("\n"))
            self._textarea = None
        if tag == "select":
            self._select = None
        if tag == "form":
            self._form = None
