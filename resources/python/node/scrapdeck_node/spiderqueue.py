"""`spiderqueue = scrapdeck_node.spiderqueue.PullSpiderQueue`: the jobs that wait on this node for a slot."""

import json

from scrapyd.interfaces import ISpiderQueue
from zope.interface import implementer

from scrapdeck_node import current

NOT_HERE = "This Scrapyd pulls its jobs from Scrapdeck: schedule them there"


@implementer(ISpiderQueue)
class PullSpiderQueue:
    def __init__(self, config, project):
        self._project = project

    def add(self, name, priority=0.0, **spider_args):
        raise PermissionError(NOT_HERE)

    def pop(self):
        # The poller starts jobs by itself, when Scrapdeck has granted them.
        return None

    def list(self):
        return [message_of(json.loads(row["offer"])) for row in self._waiting() if row["offer"]]

    def count(self):
        return len(self._waiting())

    def remove(self, func):
        jobids = [message["_job"] for message in self.list() if func(message)]
        if current.client is not None:
            current.client.remove_waiting(self._project, jobids)
        return len(jobids)

    def clear(self):
        self.remove(lambda _message: True)

    def _waiting(self):
        return [] if current.client is None else current.client.waiting(self._project)


def message_of(offer):
    """As Scrapyd's launcher reads it, but for the names of project and spider."""
    message = {**offer["args"], "name": offer["spider"], "_job": offer["jobid"], "settings": dict(offer["settings"])}
    if offer.get("isVersionAsked"):
        message["_version"] = offer["version"]
    return message
