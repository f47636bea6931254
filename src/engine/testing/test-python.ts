import { readFileSync } from 'node:fs'

const FILE = new URL('../../../.cache/test-environment.json', import.meta.url)

/** The bubblewrap that setup found or installed for tests. null: none works here. */
export function findTestBubblewrap(): string | null {
  const found = JSON.parse(readFileSync(FILE, 'utf8')) as { bubblewrap?: { program: string | null } | null }
  if (found.bubblewrap === undefined)
    throw new Error('The test environment is older than these tests. Run npm test once.')
  return found.bubblewrap?.program ?? null
}

/** The Python with Scrapy and Scrapyd that setup installs for tests. Throws if there is none. */
export function findTestPython(): string {
  try {
    return (JSON.parse(readFileSync(FILE, 'utf8')) as { python: string }).python
  } catch (error) {
    throw new Error('There is no test environment yet. Run npm test once: it makes one.', { cause: error })
  }
}
