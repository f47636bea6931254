"""
python3 make.py [--only TEXT] [CACHE]: makes the logs in src/engine/runs/log-parser/samples again, with real versions of
Scrapy from 1.0 to the newest, and LogParser's result for each of them and for the logs in jobs/outcome/samples
(logparser.jsonl). Needs the Python versions that the old Scrapys run on (pyenv has them all); keeps environments in
CACHE. Leaves out a version whose Python is missing, and keeps its old sample.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import site_of_samples

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(HERE, "..", "..", "src", "engine", "runs", "log-parser", "samples")
PYENV = os.path.expanduser("~/.pyenv/versions")

OLD = ["parsel<1.7", "w3lib<2", "lxml<5", "cssselect<1.2"]
# Scrapy, its Python, and the newest companions that it still works with.
VERSIONS = {
    "1.0": ("2.7", ["scrapy==1.0.7", "Twisted<16.7", "pyOpenSSL<20", "cryptography<3.3", "queuelib<1.6", "lxml<4.7", "w3lib<2", "service_identity<19"]),
    "1.5": ("3.6", ["scrapy==1.5.2", "Twisted<20", "pyOpenSSL<20", "cryptography<3.3", *OLD]),
    "1.8": ("3.8", ["scrapy==1.8.4", "Twisted<21", "pyOpenSSL<22", "cryptography<37", *OLD]),
    "2.0": ("3.8", ["scrapy==2.0.1", "Twisted<21", "pyOpenSSL<22", "cryptography<37", *OLD]),
    "2.4": ("3.8", ["scrapy==2.4.1", "Twisted<21", "pyOpenSSL<22", "cryptography<37", *OLD]),
    "2.5": ("3.9", ["scrapy==2.5.1", "Twisted<22", "pyOpenSSL<22", "cryptography<37", *OLD]),
    "2.8": ("3.10", ["scrapy==2.8.0", "Twisted<22.11", "pyOpenSSL<23", "cryptography<40", "lxml<5", "parsel<1.8", "w3lib<2.2"]),
    "2.11": ("3.11", ["scrapy==2.11.2", "Twisted<24.8", "w3lib<2.2"]),
    "2.13": ("3.11", ["scrapy==2.13.4", "Twisted<25.6"]),
    "2.19": ("3.13", ["scrapy==2.19.0"]),
}
# Every kind of run with the newest; every version with the run that logs everything.
RUNS = [("everything", version) for version in VERSIONS] + [
    *[(name, "2.19") for name in ["good-info", "closing", "limit", "broken", "shutdown", "killed"]],
    *[("json-" + name, "2.13") for name in ["stdlib", "structlog"]],
    *[("format-" + name, "2.13") for name in ["dashes", "pipes", "zone", "colour", "bare"]],
    *[(name, "1.8") for name in ["good-info", "limit", "shutdown"]],
    *[(name, "2.5") for name in ["good", "killed"]],
]


def python_of(version, cache):
    """The environment of one Scrapy, made if it is not there; None if there is no Python for it."""
    python, packages = VERSIONS[version]
    directory = os.path.join(cache, "s" + version)
    executable = os.path.join(directory, "bin", "python")
    if os.path.exists(os.path.join(directory, "ok")):
        return executable
    found = [name for name in sorted(os.listdir(PYENV)) if name.startswith(python + ".")] if os.path.isdir(PYENV) else []
    if not found:
        print("left out: Scrapy %s needs Python %s" % (version, python))
        return None
    shutil.rmtree(directory, ignore_errors=True)
    base = os.path.join(PYENV, found[-1], "bin", "python")
    subprocess.check_call([base, "-m", "virtualenv" if python == "2.7" else "venv", directory])
    subprocess.check_call([executable, "-m", "pip", "install", "-q", "--prefer-binary", *packages])
    open(os.path.join(directory, "ok"), "w").close()
    return executable


def run(name, version, executable, port, directory):
    log = os.path.join(directory, "run.log")
    with open(os.path.join(directory, "output"), "wb") as output:
        process = subprocess.Popen(
            [executable, "-B", os.path.join(HERE, "crawl.py"), name, log, str(port)], stdout=output, stderr=output
        )
        if name in ("shutdown", "killed"):
            until = time.time() + 20
            while time.time() < until and not (os.path.exists(log) and b"scraped 2" in open(log, "rb").read()):
                time.sleep(0.05)
            process.send_signal(signal.SIGKILL if name == "killed" else signal.SIGINT)
        process.wait(60)
    text = open(log, "rb").read().decode("utf-8", "surrogateescape")
    # Scrapyd writes what a run prints into its log, too: that is where an import error appears.
    text += open(os.path.join(directory, "output"), "rb").read().decode("utf-8", "surrogateescape")
    environment = os.path.dirname(os.path.dirname(executable))
    text = text.replace(environment, "/srv/python").replace(directory, "/srv/logs").replace(HERE, "/srv/shop")
    text = re.sub(re.escape(PYENV) + r"/([\d.]+)", r"/srv/python-\1", text)
    return re.sub(r"'Platform': '[^']*'|Platform [\w.+-]+", lambda one: one.group(0)[:9] + one.group(0)[9:].split("-")[0] + ("'" if one.group(0)[0] == "'" else ""), text)


LOGPARSER = """
import io, json, os, sys
from logparser import parse
answer = parse(io.open(sys.argv[1], encoding='utf-8', newline='').read())
# The log itself or parts of it, and when it was parsed.
for key in ['head', 'tail', 'last_update_time', 'last_update_timestamp']:
    answer.pop(key)
for each in answer['log_categories'].values():
    each.pop('details')
answer = dict(log=os.path.basename(sys.argv[1]), **answer)
print('ANSWER\\n' + json.dumps(answer, ensure_ascii=False))
"""


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--only", default="")
    arguments.add_argument("cache", nargs="?", default=os.path.join(HERE, "..", "..", ".cache", "log-samples"))
    given = arguments.parse_args()
    cache = os.path.abspath(given.cache)
    os.makedirs(cache, exist_ok=True)
    os.makedirs(SAMPLES, exist_ok=True)
    parser = os.path.join(cache, "lp", "bin", "python")
    if not os.path.exists(parser):
        subprocess.check_call([sys.executable, "-m", "venv", os.path.join(cache, "lp")])
        subprocess.check_call([parser, "-m", "pip", "install", "-q", "logparser==0.8.4"])
    port = site_of_samples.start()
    for name, version in RUNS:
        sample = "%s-%s" % (name, version)
        if given.only not in sample:
            continue
        executable = python_of(version, cache)
        if executable is None:
            continue
        directory = tempfile.mkdtemp()
        text = run(name, version, executable, port, directory)
        file = os.path.join(SAMPLES, sample + ".log")
        with open(file, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
            out.write(text)
        shutil.rmtree(directory)
        print(sample, len(text), flush=True)
    write_answers(parser)


def write_answers(parser):
    files = [
        os.path.join(directory, name)
        for directory in [SAMPLES, os.path.join(SAMPLES, "..", "..", "..", "jobs", "outcome", "samples")]
        for name in sorted(os.listdir(directory))
        if name.endswith(".log")
    ]
    # The times of a log have no zone: LogParser takes them for local ones.
    environment = dict(os.environ, TZ="UTC", PYTHONIOENCODING="utf-8")
    with open(os.path.join(SAMPLES, "logparser.jsonl"), "w", encoding="utf-8") as out:
        for file in files:
            done = subprocess.run([parser, "-c", LOGPARSER, file], stdout=subprocess.PIPE, check=True, env=environment)
            # It prints what it could not parse, before the answer.
            out.write(done.stdout.decode().split("ANSWER\n")[-1])


if __name__ == "__main__":
    main()
