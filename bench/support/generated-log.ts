import { once } from 'node:events'
import { createWriteStream, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes about `bytes` at level DEBUG in the proportions of a shop's crawl. The bytes are the same each time. */
export async function writeGeneratedLog(file: string, bytes: number): Promise<{ pages: number; items: number }> {
  mkdirSync(dirname(file), { recursive: true })
  const out = createWriteStream(file)
  let written = 0
  let [pages, items, atMs, seed] = [0, 0, Date.UTC(2026, 10, 2, 12), 42]
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
    return seed / 0x7fffffff
  }
  const time = () => new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
  const write = async (text: string) => {
    written += Buffer.byteLength(text)
    if (!out.write(text)) await once(out, 'drain')
  }
  const stamp = (logger: string, level: string) => `${time()} [${logger}] ${level}: `
  await write(
    `${stamp('scrapy.utils.log', 'INFO')}Scrapy 2.13.4 started (bot: shop)\n${stamp('scrapy.core.engine', 'INFO')}Spider opened\n`
  )
  let nextStatsMs = atMs + 60_000
  while (written < bytes) {
    let text = ''
    for (let index = 0; index < 200; index++) {
      atMs += 40
      pages++
      const url = `https://shop.example/catalogue/category-${pages % 97}/product-${pages}.html`
      const dice = random()
      if (dice < 0.02) {
        text += `${stamp('scrapy.downloadermiddlewares.retry', 'DEBUG')}Retrying <GET ${url}> (failed 1 times): 503 Service Unavailable\n`
      } else if (dice < 0.03) {
        text += `${stamp('scrapy.downloadermiddlewares.redirect', 'DEBUG')}Redirecting (301) to <GET ${url}> from <GET ${url}?old>\n`
      }
      text += `${stamp('scrapy.core.engine', 'DEBUG')}Crawled (200) <GET ${url}> (referer: https://shop.example/catalogue/)\n`
      if (dice > 0.995) text += failure(stamp('scrapy.core.scraper', 'ERROR'), url)
      else if (dice > 0.98) {
        text += `${stamp('scrapy.core.scraper', 'WARNING')}Dropped: No price in ${url}\n{'name': 'Kettle', 'price': None}\n`
      } else {
        items++
        text += `${stamp('scrapy.core.scraper', 'DEBUG')}Scraped from <200 ${url}>\n${item(url, pages)}`
      }
      if (atMs >= nextStatsMs) {
        nextStatsMs += 60_000
        text += `${stamp('scrapy.extensions.logstats', 'INFO')}Crawled ${pages} pages (at 1500 pages/min), scraped ${items} items (at 1450 items/min)\n`
      }
    }
    await write(text)
  }
  await write(
    `${stamp('scrapy.core.engine', 'INFO')}Closing spider (finished)\n${stamp('scrapy.statscollectors', 'INFO')}Dumping Scrapy stats:\n{'downloader/response_status_count/200': ${pages},\n 'finish_reason': 'finished',\n 'item_scraped_count': ${items},\n 'response_received_count': ${pages}}\n${stamp('scrapy.core.engine', 'INFO')}Spider closed (finished)\n`
  )
  out.end()
  await once(out, 'close')
  return { pages, items }
}

function item(url: string, number: number): string {
  return (
    `{'availability': 'in stock (${number % 20} available)',\n 'category': 'Küche & Haushalt',\n 'currency': 'EUR',\n` +
    ` 'description': 'A kettle of stainless steel with a capacity of 1.7 litres, an automatic switch and a cord of 75 cm. '\n` +
    `                'Two years of warranty.',\n 'name': 'Kettle ${number}',\n 'price': ${(number % 9000) / 100},\n` +
    ` 'sku': 'KT-${number}',\n 'url': '${url}'}\n`
  )
}

function failure(stamp: string, url: string): string {
  return (
    `${stamp}Spider error processing <GET ${url}> (referer: https://shop.example/catalogue/)\nTraceback (most recent call last):\n` +
    `  File "/srv/python/lib/python3.11/site-packages/scrapy/utils/defer.py", line 343, in iter_errback\n    yield next(it)\n          ^^^^^^^^\n` +
    `  File "/srv/python/lib/python3.11/site-packages/scrapy/spidermiddlewares/depth.py", line 59, in process_spider_output\n    yield from super().process_spider_output(response, result, spider)\n` +
    `  File "/srv/shop/spiders/kettles.py", line 71, in parse\n    price = float(text)\n            ^^^^^^^^^^^\n` +
    `ValueError: could not convert string to float: 'n/a'\n`
  )
}
