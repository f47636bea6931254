BOT_NAME = "demo"
SPIDER_MODULES = ["demo.spiders"]
NEWSPIDER_MODULE = "demo.spiders"

# The spiders crawl a small site that they serve to themselves on 127.0.0.1: no network, no proxy, no robots.txt.
ROBOTSTXT_OBEY = False
HTTPPROXY_ENABLED = False
TELNETCONSOLE_ENABLED = False
CONCURRENT_REQUESTS_PER_DOMAIN = 2
DOWNLOAD_DELAY = 0
RETRY_TIMES = 1
LOGSTATS_INTERVAL = 5

# A file that every run appends its job id to, so that tests can count runs.
TOUCH_FILE = ""
