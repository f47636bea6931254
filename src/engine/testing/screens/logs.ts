const AT = '2026-11-28 10:37:02'
const TRACEBACK = `${AT} [scrapy.core.scraper] \u001b[31mERROR\u001b[0m: Spider error processing <GET https://otto.example/p/12?page=3> (referer: None)
Traceback (most recent call last):
  File "/srv/prices/spiders/otto.py", line 41, in parse
    price = product['offerPrice']['amount']
            ~~~~~~~^^^^^^^^^^^^^^
KeyError: 'offerPrice'
`

/** The log of a run that ended. */
export const logOf = ({
  items = 0,
  reason = 'finished',
  errors = ''
}) => `${AT} [scrapy.core.engine] INFO: Spider opened
${errors}${AT} [scrapy.core.engine] INFO: Closing spider (${reason})
${AT} [scrapy.statscollectors] INFO: Dumping Scrapy stats:
{'downloader/request_count': ${items * 4},
 'finish_reason': '${reason}',
 'item_scraped_count': ${items},
 'log_count/ERROR': ${errors === '' ? 0 : 1}}
${AT} [scrapy.core.engine] INFO: Spider closed (${reason})
`

export const FAILED_LOG = logOf({ reason: 'shutdown', errors: TRACEBACK })
