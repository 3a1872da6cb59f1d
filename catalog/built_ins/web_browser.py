"""Web browser: the readable text of a public page, read through the guarded outgoing door."""

from catalog.built_ins.base import RowOwner, Toolbox, ToolError, ask_reader
from catalog.formats.descriptors import JSONObject
from catalog.formats.loose_text import decode_text
from catalog.servers.net.address_check import AllowedHosts, EndpointNotAllowedError, OutgoingError
from catalog.servers.net.guarded_requests import Bounds, fetch
from catalog.servers.net.guarded_transport import MB

SLUG = "web-browser"
TOOLS = Toolbox()
LONGEST = 20_000  # characters in an answer: some 5,000 tokens
_BOUNDS = Bounds(most_bytes=3 * MB, seconds=20)
_HEADERS = {"accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.8"}
_PAGES = ("text/html", "application/xhtml+xml")
_TEXTS = ("text/", "application/json", "application/xml")
_REFUSED_FROM = 400


@TOOLS.add("")
def _open(arguments: JSONObject, owner: RowOwner) -> JSONObject:
    url = str(arguments["url"]).strip()
    if "://" not in url:
        url = f"https://{url}"
    try:
        # Hosts of our own network that an admin allows for servers are not for every reader.
        page = fetch(url, headers=_HEADERS, bounds=_BOUNDS, allowed=AllowedHosts())
    except EndpointNotAllowedError:
        raise ToolError("Only public https pages are opened.") from None
    except OutgoingError as problem:
        raise ToolError(str(problem)) from None
    if page.status >= _REFUSED_FROM:
        raise ToolError(f"The site answered with status {page.status}.")
    kind = page.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind and not kind.startswith(_TEXTS) and kind not in _PAGES:
        raise ToolError(f"This is {kind[:60]}, no page that can be read as text.")
    content = decode_text(page.body, page.headers.get("content-type", ""))
    title, links = "", []
    if kind in _PAGES or content.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
        reading = ask_reader("page", content.encode(errors="surrogatepass"), base=page.url)
        title, content, links = str(reading["title"]), str(reading["text"]), list(reading["links"])
    start = int(arguments.get("start") or 0)
    answer: JSONObject = {"url": page.url, "title": title, "text": content[start : start + LONGEST]}
    if start + LONGEST < len(content):
        answer["next_start"] = start + LONGEST
    if arguments.get("include_links"):
        answer["links"] = links
    return answer
