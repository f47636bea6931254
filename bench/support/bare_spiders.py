"""The bound of starting spiders: a Python that has Scrapy loaded forks, and the child runs the spider. Nothing else.

    bare_spiders.py EGG DIRECTORY

Reads one line per order from standard input and answers each with one line:
    one       forks once; answers with the time before the fork and the path of the log once the run has ended
    many N M  runs N spiders, M at a time; answers with the seconds that took
"""

import gc
import importlib
import os
import sys
import time

egg, directory = sys.argv[1:3]
sys.path.insert(0, egg)
os.chdir(directory)
os.environ["SCRAPY_SETTINGS_MODULE"] = "bench.settings"


class NoReactor:
    """A reactor does not survive a fork, so nothing that imports one may be loaded before."""

    def find_spec(self, name, path=None, target=None):
        if name == "twisted.internet.reactor":
            raise ImportError("not before the fork")
        return None


def run(number, modules_path=None):
    from scrapy.cmdline import execute

    log = os.path.join(directory, f"{number}.log")
    try:
        execute(["scrapy", "crawl", "noop", "-s", f"LOG_FILE={log}"])
    except SystemExit:
        pass
    finally:
        if modules_path is not None:
            with open(modules_path, "w") as file:
                file.write("\n".join(sys.modules))
    return log


def fork(number, modules_path=None):
    pid = os.fork()
    if pid == 0:
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, NoReactor)]
        run(number, modules_path)
        os._exit(0)
    return pid


def load_what_a_crawl_imports():
    modules_path = os.path.join(directory, "modules")
    os.waitpid(fork("first", modules_path), 0)
    sys.meta_path.insert(0, NoReactor())
    with open(modules_path) as file:
        names = file.read().split("\n")
    for name in names:
        if name.split(".")[0] == "bench" or name == "__main__":
            continue
        try:
            importlib.import_module(name)
        except Exception:
            pass
    gc.collect()
    gc.freeze()


load_what_a_crawl_imports()
print("ready", flush=True)
count = 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "one":
        count += 1
        began = time.time()
        os.waitpid(fork(count), 0)
        print(began, os.path.join(directory, f"{count}.log"), flush=True)
    else:
        wanted, at_once = int(words[1]), int(words[2])
        began = time.monotonic()
        running = 0
        for _ in range(wanted):
            if running == at_once:
                os.wait()
                running -= 1
            count += 1
            fork(count)
            running += 1
        while running > 0:
            os.wait()
            running -= 1
        print(time.monotonic() - began, flush=True)
