"""`application = scrapdeck_node.app.application`: a stock Scrapyd, whose jobs come from Scrapdeck."""

import scrapyd.app
from scrapyd.interfaces import IEnvironment
from twisted.application.service import IServiceCollection, Service
from twisted.python import log

from scrapdeck_node import current
from scrapdeck_node.client import Client
from scrapdeck_node.eggs import EggCache
from scrapdeck_node.environment import PullEnvironment, local_directory
from scrapdeck_node.files import RunFiles
from scrapdeck_node.host import ScrapydHost
from scrapdeck_node.journal import Journal
from scrapdeck_node.poller import PullPoller
from scrapdeck_node.settings import Settings

COMPONENTS = {
    "spiderqueue": "scrapdeck_node.spiderqueue.PullSpiderQueue",
    "eggstorage": "scrapdeck_node.eggstorage.PullEggStorage",
    "jobstorage": "scrapdeck_node.jobstorage.PullJobStorage",
}


def application(config):
    settings = Settings.read(config)
    for option, wanted in COMPONENTS.items():
        # The runner of each spider reads the file again, so setting them here would not be enough.
        if config.get(option, "") != wanted:
            raise ValueError(f"scrapyd.conf needs the line: {option} = {wanted}")
    app = create_scrapyd(config)
    launcher = IServiceCollection(app).getServiceNamed("launcher")
    journal = Journal(settings.state_directory)
    eggs = EggCache(settings.state_directory)
    files = RunFiles(
        local_directory(config.get("logs_dir", "logs")),
        local_directory(config.get("items_dir", "")),
        max(1, config.getint("jobs_to_keep", 5)),
    )
    app.setComponent(IEnvironment, PullEnvironment(app.getComponent(IEnvironment)))
    host = ScrapydHost(app, launcher, eggs, files, journal, say)
    client = Client(settings, journal, eggs, host, log=say)
    NodeService(client, host).setServiceParent(app)
    return app


def create_scrapyd(config):
    """Scrapyd before 1.5 has no option `poller`, so its class is replaced while the application is created."""
    replaced = getattr(scrapyd.app, "QueuePoller", None)
    if replaced is None:
        config.cp.set(config.SECTION, "poller", "scrapdeck_node.poller.PullPoller")
        return scrapyd.app.application(config)
    scrapyd.app.QueuePoller = PullPoller
    try:
        return scrapyd.app.application(config)
    finally:
        scrapyd.app.QueuePoller = replaced


class NodeService(Service):
    name = "scrapdeck-node"

    def __init__(self, client, host):
        self._client = client
        self._host = host

    def startService(self):
        super().startService()
        current.client, current.host = self._client, self._host
        self._client.start()

    def stopService(self):
        self._client.stop()
        return super().stopService()


def say(message):
    # Also called by threads, and log.msg is safe there.
    log.msg(message, system="Scrapdeck")
