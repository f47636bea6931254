"""Runs Scrapy with an egg active: what Scrapyd calls the runner.

    crawl.py EGG crawl SPIDER [Scrapy's options]    runs a spider; the exit status is Scrapy's
    crawl.py EGG spiders                            prints the egg's spiders as one JSON array

Runs in a process of its own, as the user's Python: the only place where code from an egg is executed.
"""

import configparser
import json
import os
import sys
import zipfile

LISTING_LIMIT_SECONDS = 60


def main():
    egg, command = sys.argv[1], sys.argv[2]
    # This file's own folder must not shadow modules of the project.
    sys.path.pop(0)
    settings_module = activate(egg)
    os.environ["SCRAPY_SETTINGS_MODULE"] = settings_module
    if command == "spiders":
        return list_spiders()
    sys.argv = ["scrapy"] + sys.argv[2:]
    from scrapy.cmdline import execute

    execute()


def activate(egg):
    """Puts the egg first on the path and returns its settings module.

    pkg_resources and importlib.metadata find an egg by its place on sys.path; only where pkg_resources was imported
    before us (by a .pth file) must it be told.
    """
    sys.path.insert(0, egg)
    if "pkg_resources" in sys.modules:
        import pkg_resources

        pkg_resources.working_set.add_entry(egg)
    with zipfile.ZipFile(egg) as archive:
        text = archive.read("EGG-INFO/entry_points.txt").decode("utf-8")
    entry_points = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    entry_points.optionxform = str
    entry_points.read_string(text)
    return entry_points["scrapy"]["settings"].partition(":")[0].strip()


def list_spiders():
    if hasattr(os, "fork"):
        import signal

        # Whoever started us may be gone: never import for ever.
        signal.alarm(LISTING_LIMIT_SECONDS + 10)
    # What the project prints while it is imported must not mix with the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from scrapy.crawler import CrawlerRunner
    from scrapy.utils.project import get_project_settings

    spiders = sorted(CrawlerRunner(get_project_settings()).spider_loader.list())
    answer.write(json.dumps(spiders) + "\n")
    answer.flush()
    # Threads and exit handlers of the project are not ours to wait for.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
