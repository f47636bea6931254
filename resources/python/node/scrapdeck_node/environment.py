"""The environment of spiders: Scrapyd's own, with the job's egg and variables, and logs that stay until read."""

import os
from urllib.parse import urlsplit

from scrapyd.interfaces import IEnvironment
from zope.interface import implementer

NEVER = 10**9
# The key under which the host passes the job's variables in the launcher's message.
VARIABLES = "__scrapdeck_variables"
# Spiders must not see them.
OWN_SECRETS = ("SCRAPDECK_NODE_TOKEN",)


@implementer(IEnvironment)
class PullEnvironment:
    def __init__(self, inner):
        self._inner = inner
        self._variables = {}
        # Scrapyd deletes the oldest logs of a spider before each start, those of running jobs included.
        # Here they go only once Scrapdeck has them (files.py).
        inner.jobs_to_keep = NEVER

    def get_settings(self, message):
        # Called first. Whatever stays in the message becomes an argument of the spider.
        self._variables = message.pop(VARIABLES, {})
        return self._inner.get_settings(message)

    def get_environment(self, message, slot):
        env = self._inner.get_environment(message, slot)
        for name in OWN_SECRETS:
            env.pop(name, None)
        env.update(self._variables)
        self._variables = {}
        return env


def local_directory(path):
    """None: files go elsewhere, or nowhere."""
    if not path:
        return None
    parts = urlsplit(path)
    if parts.scheme in ("", "file"):
        return os.path.abspath(parts.path)
    return os.path.abspath(path) if os.path.splitdrive(path)[0] else None
