"""Runs Scrapy with a project active: what Scrapyd calls the runner.

    crawl.py RUN_DIRECTORY PROJECT SPIDER    runs a spider as launch.json there says; the exit status is Scrapy's
    crawl.py --list SOURCE                   prints the spiders of a project as one JSON array; SOURCE is JSON:
                                             {"egg": path} or {"settingsModule": name, "path": [folders]}

Runs in a process of its own, as the user's Python: the only place where code of a project is executed. warm.py does the
same in a fork (`run`, `list_spiders`). PROJECT and SPIDER are there for who looks at the list of processes.
"""

import json
import os
import sys

LISTING_LIMIT_SECONDS = 60
# Of address space, which is far more than memory: against code that takes all there is.
LISTING_LIMIT_BYTES = 8 * 1024**3
KNOWN_WITHIN_SECONDS = 60
HERE = os.path.dirname(os.path.abspath(__file__))
OURS = ("crawl", "hidden_values", "supervisor", "warm")


def main():
    forget_our_modules()
    if sys.argv[1] == "--list":
        # What the project prints while it is imported must not mix with the answer.
        answer = os.dup(1)
        os.dup2(2, 1)
        return list_spiders(json.loads(sys.argv[2]), answer)
    with open(os.path.join(sys.argv[1], "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    wait_until_known(sys.argv[1])
    run(launch)


def wait_until_known(directory):
    """Our supervisor writes down who we are. Where it was killed before, nobody could find us: we must not run."""
    if os.name == "nt":
        return
    import time

    with open(os.path.join(directory, "started"), encoding="utf-8") as file:
        supervisor = json.load(file)["pid"]
    child, deadline = os.path.join(directory, "child.json"), time.monotonic() + KNOWN_WITHIN_SECONDS
    while not os.path.exists(child):
        try:
            os.kill(supervisor, 0)
        except OSError:
            if not os.path.exists(child):
                sys.exit("The supervisor of this run was killed.")
        if time.monotonic() > deadline:
            sys.exit("The supervisor of this run does not go on.")
        time.sleep(0.005)


def run(launch):
    hold_to(launch["resourceLimits"])
    hide(launch["secrets"])
    activate(launch["source"])
    # crawl SPIDER -s NAME=VALUE ... -a NAME=VALUE ...: every second word is a value.
    words = enumerate(launch["arguments"])
    sys.argv = ["scrapy"] + [Plain(word) if at % 2 and word.startswith("-") else word for at, word in words]
    from scrapy.cmdline import execute

    execute()


def list_spiders(source, answer):
    """Writes the list to the descriptor `answer` and ends the process."""
    if hasattr(os, "fork"):
        import signal

        # Whoever started us may be gone: never import for ever.
        signal.alarm(LISTING_LIMIT_SECONDS + 10)
    hold_to({"addressSpaceBytes": LISTING_LIMIT_BYTES})
    activate(source)
    from scrapy.crawler import CrawlerRunner
    from scrapy.utils.project import get_project_settings

    spiders = sorted(CrawlerRunner(get_project_settings()).spider_loader.list())
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        file.write(json.dumps(spiders) + "\n")
    # Threads and exit handlers of the project are not ours to wait for.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def activate(source):
    """Puts the project first on the path and names its settings."""
    if "settingsModule" in source:
        sys.path[:0] = source["path"]
        os.environ["SCRAPY_SETTINGS_MODULE"] = source["settingsModule"]
        return
    import configparser
    import zipfile

    egg = source["egg"]
    sys.path.insert(0, egg)
    with zipfile.ZipFile(egg) as archive:
        text = archive.read("EGG-INFO/entry_points.txt").decode("utf-8")
        has_namespaces = "EGG-INFO/namespace_packages.txt" in archive.namelist()
    # Both pkg_resources and importlib.metadata find an egg by its place on sys.path. Only where pkg_resources was
    # imported before us (by a .pth file) must it be told, or where a package that is there already gets more parts.
    if has_namespaces or "pkg_resources" in sys.modules:
        activate_distribution(egg)
    entry_points = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    entry_points.optionxform = str
    entry_points.read_string(text)
    os.environ["SCRAPY_SETTINGS_MODULE"] = entry_points["scrapy"]["settings"].partition(":")[0].strip()


def activate_distribution(egg):
    try:
        import pkg_resources
    except ImportError:
        return  # Without it only native namespace packages exist, and those look at sys.path themselves.
    pkg_resources.working_set.add_entry(egg)
    for distribution in pkg_resources.find_distributions(egg):
        distribution.activate()


class Plain(str):
    """A word of the command line that is no option's name: a spider may be called `-o`, an argument `-x`."""

    def __getitem__(self, index):
        # argparse looks at the first character alone.
        return "." if index == 0 else super().__getitem__(index)


def hold_to(limits):
    if not limits or os.name == "nt":
        return
    import resource

    names = {"addressSpaceBytes": "RLIMIT_AS", "cpuSeconds": "RLIMIT_CPU", "openFiles": "RLIMIT_NOFILE"}
    for name, constant in names.items():
        if limits.get(name) is not None:
            kind = getattr(resource, constant)
            _, most = resource.getrlimit(kind)
            limit = limits[name] if most == resource.RLIM_INFINITY else min(limits[name], most)
            # At the hard limit of CPU time the kernel kills; a soft one below it says by its signal why.
            hard = most if name == "cpuSeconds" else limit
            resource.setrlimit(kind, (limit, hard))


def hide(secrets):
    """Keeps secret values out of every text that a log handler writes: messages, settings, tracebacks, URLs."""
    if not secrets:
        return
    sys.path.insert(0, HERE)
    from hidden_values import hider_of

    forget_our_modules()
    without_secrets = hider_of(secrets)
    if without_secrets is None:
        return
    import logging

    format_record = logging.Handler.format
    logging.Handler.format = lambda self, record: without_secrets(format_record(self, record))


def forget_our_modules():
    """Neither our folder nor our modules may shadow modules of the project."""
    sys.path[:] = [folder for folder in sys.path if folder != HERE]
    for name in OURS:
        sys.modules.pop(name, None)


if __name__ == "__main__":
    main()
