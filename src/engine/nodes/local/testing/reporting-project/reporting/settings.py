BOT_NAME = "reporting"
SPIDER_MODULES = ["reporting.spiders"]
# As in the template of scrapy startproject.
ROBOTSTXT_OBEY = True
