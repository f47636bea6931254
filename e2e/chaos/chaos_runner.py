"""
The program that the Scrapyds of `npm run chaos` start for each job, through their setting `runner` (default: scrapyd.runner).
Scrapyd itself is unmodified: it lists spiders, accepts jobs, starts and watches the processes.

Every run appends a line to the file CHAOS_TRUTH when it begins and another when it ends, independently of Scrapdeck:

    begin JOBID NODE PID SECONDS_SINCE_1970 NUMBER
    end   JOBID NODE PID SECONDS_SINCE_1970 NUMBER

The spider `quick` is simulated without importing Scrapy, which would cost most of a second of CPU time: it sleeps and writes a
log that ends like Scrapy's. Everything else (`real`, and Scrapyd's listing of spiders) goes to Scrapyd's own runner.
"""
import os
import signal
import sys
import time

RUNNER = "scrapyd.runner"


def main():
    arguments = sys.argv[1:]
    if arguments[:1] != ["crawl"]:
        return hand_over()
    spider = arguments[1]
    given = options(arguments[2:])
    settings, values = given["-s"], given["-a"]
    # Scrapyd up to 1.3 names the log file only in the environment, which Scrapy before 2.8 read.
    log_file = settings.get("LOG_FILE") or os.environ.get("SCRAPY_LOG_FILE")
    note("begin", values)
    if spider == "quick":
        play(values, log_file)
        return None
    if "LOG_FILE" not in settings and log_file:
        sys.argv += ["-s", f"LOG_FILE={log_file}"]
    try:
        hand_over()
    finally:
        note("end", values)
    return None


def options(arguments):
    found = {"-a": {}, "-s": {}}
    for flag, text in zip(arguments[::2], arguments[1::2]):
        name, _, value = text.partition("=")
        found[flag][name] = value
    return found


def note(what, values):
    line = f"{what} {values['_job']} {os.environ['CHAOS_NODE']} {os.getpid()} {time.time():.6f} {values['number']}\n"
    file = os.open(os.environ["CHAOS_TRUTH"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    # A single appending write of less than a page: lines of different processes never mix.
    os.write(file, line.encode())
    os.close(file)


def play(values, log_file):
    began = time.time()
    reason = "finished"
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, interrupt)
    with open(log_file, "a", buffering=1, encoding="utf-8") as log:
        write(log, "[scrapy.core.engine] INFO: Spider opened")
        try:
            time.sleep(float(values["seconds"]))
        except KeyboardInterrupt:
            reason = "shutdown"
        # Recorded before the log ends: otherwise a log could end well without a recorded run, which would look like Scrapdeck's fault.
        note("end", values)
        ended = time.time()
        write(log, f"[scrapy.core.engine] INFO: Closing spider ({reason})")
        write(
            log,
            "[scrapy.statscollectors] INFO: Dumping Scrapy stats:\n"
            f"{{'elapsed_time_seconds': {ended - began:.6f},\n"
            f" 'finish_reason': '{reason}',\n"
            " 'item_scraped_count': 1,\n"
            " 'log_count/INFO': 3}",
        )
        write(log, f"[scrapy.core.engine] INFO: Spider closed ({reason})")


def interrupt(_number, _frame):
    raise KeyboardInterrupt


def write(log, text):
    log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n")


def hand_over():
    import runpy

    runpy.run_module(RUNNER, run_name="__main__", alter_sys=True)


main()
