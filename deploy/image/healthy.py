#!/usr/bin/python3 -IS
"""healthy URL [STATUS…]: exit code 0 if the URL answers with one of these statuses (default: 200), else 1.

For health checks: images need no curl for it, and it starts faster than Node.
"""

import http.client
import sys
from urllib.parse import urlsplit

url = urlsplit(sys.argv[1])
wanted = [int(status) for status in sys.argv[2:]] or [200]
connection = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=4)
try:
    connection.request("GET", url.path or "/")
    answer = connection.getresponse()
    body = answer.read(2000).decode("utf-8", "replace")
except OSError as error:
    sys.exit(f"{sys.argv[1]}: {error}")
if answer.status not in wanted:
    sys.exit(f"{sys.argv[1]}: {answer.status} {body}")
