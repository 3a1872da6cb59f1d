"""Marks of brands, made from the npm package simple-icons: `make marks`, or `python -m lab.marks`.

It fetches the pinned version with npm, checks its digest, and writes the sprite that pages show and
the names by which a title finds its mark. Only the brands listed here go in: those of the starter
collection, of the atlas, and what teams commonly connect. The package takes marks out at their
owners' wish (Slack, Microsoft, OpenAI …): these have no mark here either. Elaborate drawings are
left out, since a page loads the whole sprite.
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from acl.platform.strict_json import parse_json

VERSION = "16.37.0"
DIGEST = "cd9faf0e6faa8a8fdd15e9632ab4c86fcae4b986fe552b87673149847f2f671d"
SPRITE, NAMES = Path("static/pegboard/marks.svg"), Path("acl/templatetags/marks.json")
# By the package's own slugs; a name that the package does not know stands after a colon.
BRANDS = """
airtable algolia anthropic antdesign:AntV angular apacheairflow:Airflow arxiv asana atlassian
bitbucket bluesky brave:BraveSearch circleci claude clickhouse clickup cloudflare confluence
databricks deepl diagramsdotnet:draw.io,drawio discord docker dropbox duckdb
duckduckgo:DuckDuckGoSearch elasticsearch eslint figma firebase git github gitlab gmail
gnubash:Shell,Bash googlebigquery:BigQuery googlecalendar googlechrome:ChromeDevTools googlecloud
googledocs googledrive googlegemini:Gemini googlemaps googlesheets homeassistant hubspot
huggingface intercom jira kubernetes langchain linear markdown mariadb meilisearch
mermaid:MermaidDiagrams miro mistralai mongodb mui mysql n8n neo4j:Neo4jDataModelling netlify
nextcloud nodedotjs notion npm nx obsidian pagerduty pandoc paypal perplexity postgresql:Postgres
prometheus proton pypi python:PythonInterpreter qdrant redis reddit sanity sentry
shadcnui:shadcn/ui shopify signal snowflake spotify sqlite stackoverflow stripe supabase telegram
terraform todoist trello typescript vercel whatsapp wikipedia wolframmathematica wordpress youtube
zendesk zoom
"""
_PATH = re.compile(r'<path d="([^"]{1,20000})"/>')


def main() -> None:
    """Fetch the package, and write both files."""
    with tempfile.TemporaryDirectory() as folder:
        package = f"simple-icons@{VERSION}"
        command = ["npm", "pack", "--silent", package, "--pack-destination", folder]
        subprocess.run(command, check=True)  # noqa: S603 - constants of this module
        (archive,) = Path(folder).glob("*.tgz")
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != DIGEST:
            sys.exit(f"{package} has the digest {digest}, not {DIGEST}.")
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
        sprite, names = draw_marks(Path(folder, "package"), BRANDS.split())
    SPRITE.write_text(sprite)
    NAMES.write_text(names)
    sys.stdout.write(f"{len(sprite):,} bytes of marks in {SPRITE}\n")


def draw_marks(package: Path, brands: list[str]) -> tuple[str, str]:
    """Return the sprite of these brands, and the JSON of the names that lead to each."""
    listed = parse_json((package / "data/simple-icons.json").read_text())
    titles = {
        icon.get("slug") or re.sub("[^a-z0-9]", "", icon["title"].casefold()): icon["title"]
        for icon in listed
    }
    symbols, names = [], {}
    for brand in sorted(brands):
        slug, _, others = brand.partition(":")
        drawing = (package / f"icons/{slug}.svg").read_text()
        (path,) = _PATH.findall(drawing)
        symbols.append(f'<symbol id="{slug}" viewBox="0 0 24 24"><path d="{path}"/></symbol>')
        for name in (slug, titles.get(slug, slug), *filter(None, others.split(","))):
            names[name] = slug
    head = f"<!-- Marks of brands, from simple-icons {VERSION} (CC0); see NOTICE. -->"
    namespace = '<svg xmlns="http://www.w3.org/2000/svg">'
    sprite = "\n".join([namespace, head, *symbols, "</svg>\n"])
    return sprite, json.dumps(names, indent=0, sort_keys=True) + "\n"


if __name__ == "__main__":
    main()
