/** What the setup of `npm test` found and installed, written to a file for the tests. */
import fs from 'node:fs'
import { ensureChromium } from './chromium.mjs'
import { inRoot } from './platform.mjs'
import { ensureTestPythonEnvironment } from './python-environment.mjs'
import { ensureScrapydVersions, newestScrapyd } from './scrapyd-versions.mjs'
import { say } from './steps.mjs'

const file = inRoot('.cache', 'test-environment.json')

/**
 * @typedef {object} TestEnvironment
 * @property {string} python has Scrapy, Scrapyd 1.6.0, scrapyd-client
 * @property {string | null} chromium null: only `npm run demo` has been set up so far
 * @property {Record<string, import('./scrapyd-versions.mjs').ScrapydInstallation>} scrapyd by version
 */

/** @returns {Promise<TestEnvironment>} */
export async function ensureTestEnvironment() {
  const python = await ensureTestPythonEnvironment()
  const scrapyd = await ensureScrapydVersions(python)
  nameUntested(scrapyd)
  return write({ python, chromium: await ensureChromium(), scrapyd })
}

/** Only what the demo uses: no browser, no older Scrapyds. What an earlier setup of the tests found stays. */
export async function ensureDemoEnvironment() {
  const python = await ensureTestPythonEnvironment()
  const before = fs.existsSync(file) ? readTestEnvironment() : null
  return write({
    python,
    chromium: before?.chromium ?? null,
    scrapyd: { ...before?.scrapyd, ...newestScrapyd(python) }
  })
}

/** @param {TestEnvironment} environment */
function write(environment) {
  fs.writeFileSync(file, `${JSON.stringify(environment, null, 2)}\n`)
  return environment
}

/** A Scrapyd that cannot run here is named, never skipped silently. @param {TestEnvironment['scrapyd']} scrapyd */
export function nameUntested(scrapyd) {
  for (const [version, { problem }] of Object.entries(scrapyd)) {
    if (problem) say(`! Scrapyd ${version} cannot run with this Python and is not tested here: ${problem}`)
  }
}

/** @returns {TestEnvironment} what the last setup wrote */
export function readTestEnvironment() {
  if (!fs.existsSync(file)) throw new Error('The test environment is not set up. Run `npm run setup`, then try again.')
  return JSON.parse(fs.readFileSync(file, 'utf8'))
}
