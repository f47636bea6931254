"""`poller = scrapdeck_node.poller.PullPoller`: the slots of Scrapyd's launcher that wait for a job."""

from collections.abc import Mapping

from scrapyd.interfaces import IPoller
from scrapyd.utils import get_project_list
from twisted.internet.defer import Deferred
from zope.interface import implementer

from scrapdeck_node import current
from scrapdeck_node.spiderqueue import PullSpiderQueue


@implementer(IPoller)
class PullPoller:
    def __init__(self, config):
        self._config = config
        self.queues = Queues(config)
        self.waiting = []

    def poll(self):
        """Does nothing: a job starts as soon as it is granted and a slot is free."""

    def next(self):
        deferred = Deferred()
        self.waiting.append(deferred)
        if current.host is not None:
            current.host.slot_is_free()
        return deferred

    def update_projects(self):
        self.queues.update()


class Queues(Mapping):
    """The projects of the eggs that are here, each with its queue."""

    def __init__(self, config):
        self._config = config
        self.update()

    def update(self):
        self._projects = get_project_list(self._config)

    def __getitem__(self, project):
        if project not in self._projects:
            raise KeyError(project)
        return PullSpiderQueue(self._config, project)

    def __iter__(self):
        return iter(self._projects)

    def __len__(self):
        return len(self._projects)
