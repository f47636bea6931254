import { createSeededRandom } from '../../src/engine/testing/seeded-random.ts'

const SYLLABLES = 'ba ce di fo gu ha ki lo mu na pe ri so tu va we xi yo zu ar el in or un'.split(' ')

/**
 * Returns a generator for the logs of a spider, which has its own site, paths, fields and exceptions. Builds lines
 * from prepared pieces, because text must be generated faster than it is archived.
 */
export function createSpider(seed: number): (bytes: number, logSeed: number) => Buffer {
  const random = createSeededRandom(seed)
  const below = (limit: number) => Math.floor(random.next() * limit)
  const word = () => Array.from({ length: 2 + below(3) }, () => SYLLABLES[below(SYLLABLES.length)]).join('')
  const words = (count: number) => Array.from({ length: count }, word)
  const site = `https://www.${word()}-${word()}.example.com`
  const [paths, fields, names, values] = [words(40), words(8), words(200), words(200)]
  const [module, error] = [word(), `${word()}Error`]

  return (bytes, logSeed) => {
    // Uses xorshift, because it is fast.
    let state = (logSeed * 2_654_435_761 + seed) | 1
    const next = (limit: number) => {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return (state >>> 0) % limit
    }
    const parts: string[] = []
    let size = 0
    let seconds = Date.UTC(2026, 9, 1) / 1_000 + (logSeed % 2_000_000)
    let pages = 0
    let items = 0
    let stamp = ''
    for (let line = 0; size < bytes; line += 1) {
      if (line % 40 === 0)
        stamp = new Date((seconds += 1 + next(3)) * 1_000).toISOString().slice(0, 19).replace('T', ' ')
      const url = `${site}/${paths[next(40)]}/${names[next(200)]}-${next(1_000_000_000)}.html`
      const kind = next(200)
      let text: string
      if (kind < 100) {
        pages += 1
        text = `${stamp} [scrapy.core.engine] DEBUG: Crawled (200) <GET ${url}> (referer: ${site}/${paths[next(40)]})\n`
      } else if (kind < 190) {
        items += 1
        text = `${stamp} [scrapy.core.scraper] DEBUG: Scraped from <200 ${url}>\n{'${fields[0]}': '${names[next(200)]} ${values[next(200)]}', '${fields[1]}': ${next(10_000) / 100}, '${fields[2]}': '${next(2 ** 31).toString(36)}', '${fields[3]}': '${values[next(200)]}', '${fields[4]}': ${next(5_000)}}\n`
      } else if (kind < 194) {
        text = `${stamp} [scrapy.extensions.logstats] INFO: Crawled ${pages} pages (at ${next(900)} pages/min), scraped ${items} items (at ${next(900)} items/min)\n`
      } else if (kind < 198) {
        text = `${stamp} [scrapy.downloadermiddlewares.retry] DEBUG: Retrying <GET ${url}> (failed 1 times): 503 Service Unavailable\n`
      } else if (kind < 199) {
        text = `${stamp} [${module}.pipelines] WARNING: Dropped ${names[next(200)]}: no ${fields[next(8)]}, request ${hex(next)}${hex(next)}\n`
      } else {
        text = `${stamp} [scrapy.core.scraper] ERROR: Spider error processing <GET ${url}> (referer: None)\nTraceback (most recent call last):\n  File "/opt/${module}/spiders/${paths[0]}.py", line ${next(300)}, in parse_${fields[next(8)]}\n    value = read(text)\n${module}.errors.${error}: '${values[next(200)]}'\n`
      }
      parts.push(text)
      size += text.length
    }
    return Buffer.from(parts.join(''), 'latin1')
  }
}

const hex = (next: (limit: number) => number): string =>
  next(2 ** 31)
    .toString(16)
    .padStart(8, '0')
