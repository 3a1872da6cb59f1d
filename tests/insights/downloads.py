"""Tables of the insights pages, downloaded as CSV."""

import csv
import io

from django.test import Client


def table(client: Client, name: str, query: str = "") -> list[dict[str, str]]:
    response = client.get(f"/insights/csv/{name}/{query}")
    assert response.status_code == 200
    content = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(content)))
