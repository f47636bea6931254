#!/usr/bin/python3 -I
"""drained: ends when this Scrapyd has had no pending and no running job for some seconds.

A preStop hook: Scrapdeck was told to send nothing more (the container beside this one), and the pod's grace period ends the
wait. It needs no access to Scrapdeck, which the spiders here would share.
"""

import base64
import configparser
import glob
import json
import time
import urllib.request

QUIET_SECONDS = 6

config = configparser.ConfigParser(interpolation=None)
config.read(["/etc/scrapyd/scrapyd.conf", *sorted(glob.glob("/etc/scrapyd/conf.d/*"))])
scrapyd = config["scrapyd"]
request = urllib.request.Request(f"http://127.0.0.1:{scrapyd.get('http_port', '6800')}/daemonstatus.json")
if scrapyd.get("username"):
    access = f"{scrapyd['username']}:{scrapyd.get('password', '')}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(access).decode()}")

quiet_since = None
while quiet_since is None or time.monotonic() - quiet_since < QUIET_SECONDS:
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            status = json.load(answer)
        is_quiet = status["pending"] == 0 and status["running"] == 0
    except (OSError, ValueError, KeyError) as error:
        print(f"Scrapyd does not answer: {error}", flush=True)
        is_quiet = False
    if not is_quiet:
        quiet_since = None
    elif quiet_since is None:
        quiet_since = time.monotonic()
    time.sleep(1)
