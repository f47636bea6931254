import { readFileSync } from 'node:fs'

/** The Python with Scrapy and Scrapyd that setup installs for tests; throws, naming the next step, if there is none. */
export function findTestPython(): string {
  const file = new URL('../../../.cache/test-environment.json', import.meta.url)
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { python: string }).python
  } catch (error) {
    throw new Error('There is no test environment yet. Run npm test once: it makes one.', { cause: error })
  }
}
