/**
 * `npm test`: its own set-up, then every check, each timed; the first that fails ends it with its output. The last line
 * says `N passed, N failed`, summed over all tests.
 *
 *   npm test                    everything
 *   npm run check               the same without the set-up
 *   npm run check -- unit       only these steps
 *   npm run setup               the set-up alone
 *
 * Runs on Node 20, before anything is installed.
 */
import fs from 'node:fs'
import path from 'node:path'
import { ensureBuilt } from './setup/build.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { cacheDirectory, inRoot, nodeBinary, packageFile } from './setup/platform.mjs'
import { ensurePythonEnvironment } from './setup/python-environment.mjs'
import { commandStep, say, showFailure } from './setup/steps.mjs'
import { ensureTestEnvironment, nameUntested, readTestEnvironment } from './setup/test-environment.mjs'

const resultDirectory = path.join(cacheDirectory, 'results')

/** @param {string} name */
const resultFile = (name) => path.join(resultDirectory, `${name}.json`)

/** @param {string} title @param {string} name @param {string[]} projects */
const vitest = (title, name, projects) => ({
  title,
  args: [
    packageFile('vitest/vitest.mjs'),
    'run',
    ...projects.flatMap((project) => ['--project', project]),
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${resultFile(name)}`
  ]
})

/** @typedef {{ title: string, args?: string[], env?: Record<string, string>, work?: () => Promise<void>, next?: string }} Check */

/** @type {Record<string, () => Check>} in the order they run: the quick ones first */
const CHECKS = {
  format: () => ({
    title: 'Format',
    args: [packageFile('@biomejs/biome/bin/biome'), 'format', '--max-diagnostics=20', '.'],
    next: '`npm run format` formats.'
  }),
  lint: () => ({ title: 'Lint', args: [packageFile('eslint/bin/eslint.js'), '.'] }),
  borders: () => ({
    title: 'Borders',
    args: [packageFile('dependency-cruiser/bin/dependency-cruiser.mjs'), 'src', '--output-type', 'err-long']
  }),
  types: () => ({ title: 'Types', args: [inRoot('scripts', 'check-types.mjs')] }),
  build: () => ({ title: 'Build', work: ensureBuilt }),
  unit: () => vitest('Unit tests', 'unit', ['unit', 'renderer']),
  integration: () => vitest('Integration tests', 'integration', ['integration']),
  browser: () => ({
    title: 'Browser tests',
    args: [
      packageFile('@playwright/test/cli.js'),
      'test',
      '--config',
      'e2e/playwright.config.ts',
      '--reporter=list,json'
    ],
    env: {
      PLAYWRIGHT_JSON_OUTPUT_FILE: resultFile('browser'),
      CHROMIUM: readTestEnvironment().chromium ?? ''
    }
  })
}

const given = process.argv.slice(2)
const wanted = given.filter((word) => !word.startsWith('--'))

try {
  const unknown = wanted.filter((name) => !Object.hasOwn(CHECKS, name))
  if (unknown.length > 0)
    throw new Error(`No step is called ${unknown.join(', ')}. There are: ${Object.keys(CHECKS).join(', ')}`)
  if (!given.includes('--no-setup')) await setUp()
  if (!given.includes('--setup-only')) await runChecks()
} catch (error) {
  showFailure(error)
  process.exitCode = 1
  if (!given.includes('--setup-only')) say(sums())
  process.exit()
}

async function setUp() {
  await Promise.all([ensureNodeModules(), ensurePythonEnvironment().then(() => {})])
  await ensureTestEnvironment({ withBrowser: true })
}

async function runChecks() {
  const beganAt = performance.now()
  fs.rmSync(resultDirectory, { recursive: true, force: true })
  fs.mkdirSync(resultDirectory, { recursive: true })
  for (const [name, describe] of Object.entries(CHECKS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const { title, work, args = [], env = {}, next } = describe()
    if (work) await work()
    else await commandStep({ title, command: nodeBinary, args, env: { NO_COLOR: '1', ...env }, next })
  }
  if (wanted.length === 0 || wanted.includes('integration')) nameUntested(readTestEnvironment().scrapyd)
  say(`All in ${Math.round((performance.now() - beganAt) / 1000)} s`)
  say(sums())
}

/** Read from the reports of Vitest and Playwright, which differ. A step that could not even start is one failure. */
function sums() {
  let passed = 0
  let failed = 0
  for (const name of fs.existsSync(resultDirectory) ? fs.readdirSync(resultDirectory) : []) {
    const report = JSON.parse(fs.readFileSync(path.join(resultDirectory, name), 'utf8'))
    passed += report.numPassedTests ?? report.stats.expected + report.stats.flaky
    failed += report.numFailedTests ?? report.stats.unexpected
  }
  if (process.exitCode === 1 && failed === 0) failed = 1
  return `${passed} passed, ${failed} failed`
}
