import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'

export function logLines({
  bytes,
  seed,
  startMs = Date.UTC(2026, 10, 2)
}: {
  bytes: number
  seed: number
  startMs?: number
}): string {
  const random = createSeededRandom(seed)
  const below = (limit: number) => Math.floor(random.next() * limit)
  const lines: string[] = []
  let atMs = startMs
  let pages = 0
  let items = 0
  for (let size = 0; size < bytes; ) {
    atMs += below(40)
    const time = new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')
    const page = `https://shop.example.com/category/${below(500)}/product-${below(10_000_000)}.html?page=${below(90)}`
    const kind = below(200)
    let text: string
    if (kind < 100) {
      pages += 1
      text = `${time} [scrapy.core.engine] DEBUG: Crawled (200) <GET ${page}> (referer: https://shop.example.com/category/${below(500)})`
    } else if (kind < 190) {
      items += 1
      text = `${time} [scrapy.core.scraper] DEBUG: Scraped from <200 ${page}>\n{'name': 'Product ${below(100_000)}', 'price': '${below(9_999) / 100}', 'sku': '${below(2 ** 31).toString(36)}${below(2 ** 31).toString(36)}'}`
    } else if (kind < 195) {
      text = `${time} [scrapy.extensions.logstats] INFO: Crawled ${pages} pages (at ${below(900)} pages/min), scraped ${items} items (at ${below(900)} items/min)`
    } else if (kind < 199) {
      text = `${time} [scrapy.downloadermiddlewares.retry] DEBUG: Retrying <GET ${page}> (failed 1 times): 503 Service Unavailable`
    } else {
      text = `${time} [scrapy.core.scraper] ERROR: Spider error processing <GET ${page}> (referer: None)\nTraceback (most recent call last):\n  File "/opt/shop/spiders/prices.py", line ${below(90)}, in parse_offer\n    price = Decimal(text)\ndecimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]`
    }
    lines.push(text)
    size += text.length + 1
  }
  return `${lines.join('\n')}\n`
}
