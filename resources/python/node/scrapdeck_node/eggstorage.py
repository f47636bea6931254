"""`eggstorage = scrapdeck_node.eggstorage.PullEggStorage`: eggs that were fetched from Scrapdeck."""

import os

from scrapyd.interfaces import IEggStorage
from zope.interface import implementer

from scrapdeck_node.eggs import EggCache
from scrapdeck_node.settings import state_directory_of

READ_ONLY = "This Scrapyd pulls its eggs from Scrapdeck: upload them there"


@implementer(IEggStorage)
class PullEggStorage:
    def __init__(self, config):
        self._cache = EggCache(state_directory_of(config))

    def put(self, eggfile, project, version):
        raise PermissionError(READ_ONLY)

    def get(self, project, version=None):
        # Set for the runner of a spider: exactly the egg of its job's offer.
        path = os.environ.get("SCRAPDECK_EGG")
        if path is not None:
            return os.environ.get("SCRAPDECK_EGG_VERSION", version), open(path, "rb")
        versions = self._cache.versions(project)
        if version is None and versions:
            version = versions[-1]
        path = None if version is None else self._cache.newest(project, version)
        return (None, None) if path is None else (version, open(path, "rb"))

    def list(self, project):
        return self._cache.versions(project)

    def list_projects(self):
        return self._cache.projects()

    def delete(self, project, version=None):
        """Only from the cache: it is fetched again when a job needs it."""
        self._cache.delete(project, version)
