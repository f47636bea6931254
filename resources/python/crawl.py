"""Runs Scrapy with a project active: what Scrapyd calls the runner.

    crawl.py RUN_DIRECTORY PROJECT SPIDER    runs a spider as launch.json there specifies; exits with Scrapy's status
    crawl.py --given DESCRIPTOR PROJECT SPIDER   the same, kept apart (apart.py): launch.json is in that open file; one that
                                             lists gives the descriptor for the answer instead of a spider
    crawl.py --list SOURCE                   prints the spiders of a project as one JSON array; SOURCE is JSON:
                                             {"egg": path} or {"settingsModule": name, "path": [folders]}

Runs in a separate process, in the user's Python: the only place where a project's code is executed. warm.py does the
same in a fork (`run`, `list_spiders`). PROJECT and SPIDER are only for readers of the process list.
"""

import json
import os
import sys

LISTING_LIMIT_SECONDS = 60
# Address space, which is far more than used memory: stops code that allocates without end.
LISTING_LIMIT_BYTES = 8 * 1024**3
KNOWN_WITHIN_SECONDS = 60
# Per project. Scrapy deletes no page; a deleted one is fetched again.
HTTP_CACHE_BYTES = 2 * 1000**3
LONGEST_REASON = 200
HERE = os.path.dirname(os.path.abspath(__file__))
OURS = ("apart", "crawl", "hidden_values", "parking", "supervisor", "warm")


def main():
    forget_our_modules()
    if sys.argv[1] == "--list":
        # What the project prints while being imported must not mix with the answer.
        answer = os.dup(1)
        os.dup2(2, 1)
        return list_spiders(json.loads(sys.argv[2]), answer)
    if sys.argv[1] == "--given":
        with os.fdopen(int(sys.argv[2]), encoding="utf-8") as file:
            launch = json.load(file)
        return list_spiders(launch["source"], int(sys.argv[4])) if launch.get("lists") else run(launch)
    with open(os.path.join(sys.argv[1], "launch.json"), encoding="utf-8") as file:
        launch = json.load(file)
    wait_until_known(sys.argv[1])
    run(launch)


def wait_until_known(directory):
    """Waits until the supervisor has recorded this process. If it was killed first, no engine could find us: exit."""
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
    take_away(launch.get("isWithoutFiles", False))
    if "feed" in launch:
        add_feed(launch["feed"]["url"], launch["feed"]["asked"], launch["logFile"])
    if "HTTPCACHE_ENABLED=True" in launch["arguments"]:
        give_data_a_place()
    report_finish_reason()
    from scrapy.cmdline import execute

    execute()


def report_finish_reason():
    """Tells the supervisor why the spider closed, which its log does not say below level INFO: in a line of the output,
    which it removes (supervisor.py: take_finish_reason)."""
    from scrapy import signals
    from scrapy.crawler import Crawler

    def write_reason(reason):
        # Not truncated: the rest of a secret value would not be recognised.
        if len(str(reason)) <= LONGEST_REASON:
            text = json.dumps(str(reason), ensure_ascii=False).encode("utf-8", "replace")
            os.write(2, b"\nScrapdeck: the spider closed: %s\n" % text)

    begin = Crawler.__init__

    def begin_and_report(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        self.signals.connect(write_reason, signals.spider_closed, weak=False)

    Crawler.__init__ = begin_and_report


def take_away(are_files=False):
    """Takes from Scrapy's defaults the server that executes the code of those who read its token, and, for orders of
    users who may not choose code, what reads the files of this machine, or elsewhere with its credentials."""
    from scrapy.settings import default_settings

    # A project that wants the extension names it and enables it.
    default_settings.REMOTE_CONTROL_ENABLED = False
    default_settings.EXTENSIONS_BASE.pop("scrapy.extensions.remote_control.RemoteControl", None)
    if are_files:
        for scheme in ("file", "s3", "ftp"):
            default_settings.DOWNLOAD_HANDLERS_BASE.pop(scheme, None)


def add_feed(url, asked, log_file):
    """Adds our feed to those of the project, or of the job (`asked`), where Scrapyd has only its own."""
    from scrapy.extensions import feedexport
    from scrapy.settings import default_settings

    if not hasattr(default_settings, "FEEDS"):
        return  # Scrapy before 2.1.
    default_settings.FEEDS = {url: {"format": "jsonlines"}}
    at = next(at for at, word in enumerate(sys.argv) if word.startswith("FEEDS={") and sys.argv[at - 1] == "-s")
    sys.argv[at] = Shown(sys.argv[at])
    # If the job sets no FEEDS, this repeats LOG_FILE, which changes nothing.
    sys.argv[at].meant = ["LOG_FILE", log_file] if asked is None else ["FEEDS", asked]
    begin = feedexport.FeedExporter.__init__

    def begin_with_ours(self, crawler):
        settings = crawler.settings
        ours = {"format": "jsonlines"}
        if settings.getint("FEED_EXPORT_BATCH_ITEM_COUNT"):
            ours["batch_item_count"] = 0
        own = settings.getdict("FEEDS")
        own.pop(url, None)
        # Ours first: Scrapy stops at a feed that it cannot open.
        set_finally(settings, FEEDS={url: ours, **own})
        try:
            begin(self, crawler)
        except Exception:
            if not own and not settings["FEED_URI"]:
                raise
            import logging

            text = "The project's own feeds cannot be used, see above: the items are stored by Scrapdeck alone."
            logging.getLogger("scrapy.extensions.feedexport").error(text)
            set_finally(settings, FEEDS={url: ours}, FEED_URI=None)
            begin(self, crawler)

    feedexport.FeedExporter.__init__ = begin_with_ours


def set_finally(settings, **values):
    """Sets them even though the crawl has begun."""
    settings.frozen, before = False, settings.frozen
    for name, value in values.items():
        settings.set(name, value, priority=max(40, settings.getpriority(name) or 0))
    settings.frozen = before


def give_data_a_place():
    """An egg has no scrapy.cfg, next to which Scrapy keeps its data: it would turn its cache off without a word."""
    from scrapy.exceptions import NotConfigured
    from scrapy.utils import project

    find = project.project_data_dir

    def find_or_make(name="default"):
        try:
            return find(name)
        except NotConfigured:
            # Below the project's working directory, which all of its runs share.
            directory = os.path.abspath(".scrapy")
            os.makedirs(directory, mode=0o700, exist_ok=True)
            try:
                forget_pages(os.path.join(directory, "httpcache"))
            except OSError:
                pass  # Another run has deleted some of them meanwhile.
            return directory

    project.project_data_dir = find_or_make


def forget_pages(cache, most_bytes=HTTP_CACHE_BYTES):
    """Deletes the oldest pages beyond that size. They are in SPIDER/FI/FINGERPRINT, and never behind links."""
    import shutil

    pages = []
    for folder, _, files in os.walk(cache):
        if "pickled_meta" in files:
            found = [os.lstat(os.path.join(folder, name)) for name in files]
            pages.append((max(one.st_mtime for one in found), sum(one.st_size for one in found), folder))
    excess = sum(size for _, size, _ in pages) - most_bytes
    for _, size, folder in sorted(pages):
        if excess <= 0:
            break
        shutil.rmtree(folder, ignore_errors=True)
        excess -= size


def list_spiders(source, answer):
    """Writes the list to the descriptor `answer` and ends the process."""
    if hasattr(os, "fork"):
        import signal

        # The engine may be gone: an import that hangs must still end.
        signal.alarm(LISTING_LIMIT_SECONDS + 10)
    hold_to({"addressSpaceBytes": LISTING_LIMIT_BYTES})
    activate(source)
    from scrapy.crawler import CrawlerRunner
    from scrapy.utils.project import get_project_settings

    spiders = sorted(CrawlerRunner(get_project_settings()).spider_loader.list())
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        file.write(json.dumps(spiders) + "\n")
    # Do not wait for the project's threads and exit handlers.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def activate(source):
    """Puts the project first on the path and names its settings."""
    if "settingsModule" in source:
        sys.path[:0] = source["path"]
        os.environ["SCRAPY_SETTINGS_MODULE"] = source["settingsModule"]
        return
    import zipfile

    egg = source["egg"]
    sys.path.insert(0, egg)
    with zipfile.ZipFile(egg) as archive:
        names = archive.namelist()
        metadata = metadata_folder(names)
        text = archive.read(metadata + "/entry_points.txt").decode("utf-8")
        has_namespaces = metadata + "/namespace_packages.txt" in names
    # Both pkg_resources and importlib.metadata find an egg through sys.path. Explicit activation is needed only if
    # pkg_resources was imported earlier (by a .pth file), or if the egg extends an existing namespace package.
    if has_namespaces or "pkg_resources" in sys.modules:
        activate_distribution(egg)
    os.environ["SCRAPY_SETTINGS_MODULE"] = settings_module(text)


def metadata_folder(names):
    """Of an egg, else of the first distribution at the top, as in a wheel: as pkg_resources does."""
    if "EGG-INFO/PKG-INFO" in names:
        return "EGG-INFO"
    tops = (name.partition("/") for name in names)
    return next((top for top, slash, _ in tops if slash and top.lower().endswith((".dist-info", ".egg-info"))), "EGG-INFO")


def settings_module(entry_points):
    """Of `settings = shop.settings:object [extra]` in the section [scrapy]."""
    import re

    section = module = None
    for line in map(str.strip, entry_points.splitlines()):
        name, _, value = line.partition("=")
        if line.startswith("["):
            section = line[1:-1].strip()
        elif section == "scrapy" and name.strip() == "settings":
            module = re.split(r"[:\[]", value)[0].strip()
    return module


def activate_distribution(egg):
    try:
        import pkg_resources
    except ImportError:
        return  # Then only native namespace packages exist, and those search sys.path themselves.
    pkg_resources.working_set.add_entry(egg)
    for distribution in pkg_resources.find_distributions(egg):
        distribution.activate()


class Plain(str):
    """A command-line word that argparse never takes for an option: a spider may be named `-o`, an argument `-x`."""

    def __getitem__(self, index):
        # argparse only looks at the first character.
        return "." if index == 0 else super().__getitem__(index)


class Shown(str):
    """A NAME=VALUE that the command line shows as with Scrapyd, but that has another value for Scrapy."""

    def split(self, *_):
        return self.meant


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
            # At the hard limit of CPU time the kernel sends KILL; at a lower soft limit XCPU, which names the cause.
            hard = most if name == "cpuSeconds" else limit
            resource.setrlimit(kind, (limit, hard))


def hide(secrets):
    """Keeps secret values out of every text that a log handler writes: messages, settings, tracebacks, URLs."""
    if not secrets:
        return
    sys.path.insert(0, HERE)
    # As in warm.py: the installed app must stay as it was installed.
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    from hidden_values import hider_of

    sys.dont_write_bytecode = before
    forget_our_modules()
    without_secrets = hider_of(secrets)
    if without_secrets is None:
        return
    import logging

    format_record = logging.Handler.format
    logging.Handler.format = lambda self, record: without_secrets(format_record(self, record))


def forget_our_modules():
    """Keeps our folder and modules from shadowing the project's."""
    sys.path[:] = [folder for folder in sys.path if folder != HERE]
    for name in OURS:
        sys.modules.pop(name, None)


if __name__ == "__main__":
    main()
