"""
What the Scrapyds of `npm run chaos` start for each job, by their own setting `runner` (default: scrapyd.runner). Scrapyd itself is
the unmodified one: it lists spiders, takes jobs, starts and watches the processes.

Every run appends a line to the file CHAOS_TRUTH when it begins and one when it ends, whatever Scrapdeck believes:

    begin JOBID NODE PID SECONDS_SINCE_1970 NUMBER
    end   JOBID NODE PID SECONDS_SINCE_1970 NUMBER

The spider `quick` is played without importing Scrapy, which costs most of a second of processor time: it sleeps and writes a log
that ends as Scrapy's does. Everything else (`real`, and Scrapyd's listing of spiders) goes to Scrapyd's own runner.
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
    # Up to 1.3 the log file is named in the environment alone, which Scrapy before 2.8 looked at.
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
    # One write of less than a page at the end of the file: lines of many processes never mix.
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
        # First the truth: a log that ends well without it would be a lie of ours, not of Scrapdeck.
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
