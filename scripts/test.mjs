/**
 * `npm test`: its own set-up, then every check, two at a time; the first that fails ends it with its output. A table
 * tells where the time went. The last line says `N passed, N failed`, summed over all tests.
 *
 *   npm test                    everything
 *   npm run check               the same without the set-up
 *   npm run check -- unit       only these steps
 *   npm run setup               the set-up alone
 *   npm run test:long           the tests that have a long form (test-length.mjs) in it
 *
 * Runs on Node 20, before anything is installed.
 */
import fs from 'node:fs'
import path from 'node:path'
import { ensureBuilt } from './setup/build.mjs'
import { runSideBySide } from './setup/side-by-side.mjs'
import { ensureNodeModules } from './setup/node-modules.mjs'
import { cacheDirectory, nodeBinary, packageFile } from './setup/platform.mjs'
import { ensurePythonEnvironment } from './setup/python-environment.mjs'
import { commandStep, say, showFailure } from './setup/steps.mjs'
import { ensureTestEnvironment, nameUntested, readTestEnvironment } from './setup/test-environment.mjs'
import { readResults, sums, table } from './setup/test-results.mjs'

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

/** What starts the service starts what was built: it is what ships, and ready in a third of the time. */
const BUILT_SERVICE = { SERVICE_ENTRY: 'out/service/scrapdeck.js' }

/**
 * `cores`: how much of the machine it is given; `after`: what must have ended, and is run with it.
 * @typedef {{
 *   title: string, cores?: number, after?: string[], args?: string[], env?: Record<string, string>,
 *   work?: () => Promise<unknown>, next?: string
 * }} Check
 */

/** @type {Record<string, () => Check>} in the order they begin: the quick ones first */
const CHECKS = {
  format: () => ({
    title: 'Format',
    args: [packageFile('@biomejs/biome/bin/biome'), 'format', '--max-diagnostics=20', '.'],
    next: '`npm run format` formats.'
  }),
  knip: () => ({
    title: 'Unused code',
    args: [packageFile('knip/bin/knip.js')],
    next: 'delete what is named above, or name its entry in knip.json.'
  }),
  borders: () => ({
    title: 'Borders',
    args: [
      packageFile('dependency-cruiser/bin/dependency-cruiser.mjs'),
      ...['src', 'e2e', 'bench', 'simulation', 'scripts'],
      ...['--output-type', 'err-long']
    ]
  }),
  types: () => ({
    title: 'Types',
    // One checker: each more checks again what files of its share import, and this runs beside others.
    args: [packageFile('typescript-native/bin/tsc'), '-b', '--builders', '1', '--checkers', '1', '--pretty', 'false']
  }),
  lint: () => ({
    title: 'Lint',
    args: [packageFile('oxlint/bin/oxlint'), ...['src', 'e2e', 'bench', 'simulation', 'scripts']]
  }),
  build: () => ({ title: 'Build', work: ensureBuilt }),
  unit: () => ({ ...vitest('Unit tests', 'unit', ['unit', 'renderer', 'alone']), cores: 2 }),
  // Each has the machine to itself: side by side, what these show live came too late for those that watch it.
  integration: () => ({
    ...vitest('Integration tests', 'integration', ['integration']),
    ...{ cores: 2, after: ['build'], env: BUILT_SERVICE }
  }),
  browser: () => ({
    title: 'Browser tests',
    cores: 2,
    after: ['build'],
    args: [
      packageFile('@playwright/test/cli.js'),
      'test',
      '--config',
      'e2e/playwright.config.ts',
      '--reporter=list,json'
    ],
    env: {
      ...BUILT_SERVICE,
      PLAYWRIGHT_JSON_OUTPUT_FILE: resultFile('browser'),
      CHROMIUM: readTestEnvironment().chromium ?? ''
    }
  })
}

const given = process.argv.slice(2)
const commonEnvironment = {
  NO_COLOR: '1',
  // Services, threads and tools begin from our sources many hundred times: each is compiled once.
  NODE_COMPILE_CACHE: path.join(cacheDirectory, 'compiled'),
  ...(given.includes('--long') && { TEST_LENGTH: 'long' })
}
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
  if (!given.includes('--setup-only')) say(sums(readResults(resultDirectory), 1))
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
  const all = Object.entries(CHECKS).map(([name, describe]) => ({ name, cores: 1, after: [], ...describe() }))
  const chosen = all.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  const checks = all.filter((one) => chosen.includes(one) || chosen.some(({ after }) => after.includes(one.name)))
  const ran = await runSideBySide(checks, ({ title, work, args = [], env = {}, next }) =>
    work ? work() : commandStep({ title, command: nodeBinary, args, env: { ...commonEnvironment, ...env }, next })
  )
  if (checks.some(({ name }) => name === 'integration')) nameUntested(readTestEnvironment().scrapyd)
  const results = readResults(resultDirectory)
  say(table(ran, results, performance.now() - beganAt))
  say(sums(results, 0))
}
