/**
 * `npm test` sets up its environment, then runs its checks, two at a time. The first failure ends it with that
 * check's output. A table shows how long each part took. The last line says `N passed, N failed`, summed over all
 * tests.
 *
 *   npm test                    static checks and every test file without `.full.` in its name
 *   npm run test:full           everything; a test that passes only on a retry fails it
 *                               (-- --allow-retries: is only named)
 *   npm run check               npm test without the setup
 *   npm run check -- unit       only these steps; --full: with their `.full.` files
 *   npm run setup               only the setup, of everything
 *   npm run test:long           everything, with tests in their long form (test-length.mjs)
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
import { readResults, skipped, sums, table, triedAgain, withRetriesFailed } from './setup/test-results.mjs'

const given = process.argv.slice(2)
const isFull = given.includes('--full')

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

/** Lets tests start the built service, because it is what users run and it starts in a third of the time. */
const BUILT_SERVICE = { SERVICE_ENTRY: 'out/service/scrapdeck.js' }

/**
 * `cores` is the number of cores it gets. `after` names checks that must end first; choosing it runs them too.
 * @typedef {{
 *   title: string, cores?: number, after?: string[], args?: string[], env?: Record<string, string>,
 *   work?: () => Promise<unknown>, next?: string
 * }} Check
 */

/** @type {Record<string, () => Check>} in starting order: the quick ones first */
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
  words: () => ({ title: 'Words', args: ['scripts/words.mjs'] }),
  types: () => ({
    title: 'Types',
    // Only one checker, because each additional one would check shared imports again, and other checks run at the
    // same time.
    args: [packageFile('typescript-native/bin/tsc'), '-b', '--builders', '1', '--checkers', '1', '--pretty', 'false']
  }),
  lint: () => ({
    title: 'Lint',
    args: [packageFile('oxlint/bin/oxlint'), ...['src', 'e2e', 'bench', 'simulation', 'scripts']]
  }),
  build: () => ({ title: 'Build', work: ensureBuilt }),
  unit: () => ({ ...vitest('Unit tests', 'unit', ['unit', 'renderer', 'alone']), cores: 2 }),
  // Runs alone, because beside other checks, these tests receive live updates too late.
  integration: () => ({
    ...vitest('Integration tests', 'integration', ['integration']),
    cores: 2,
    after: ['build'],
    env: BUILT_SERVICE
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

const commonEnvironment = {
  NO_COLOR: '1',
  // Compiles each file only once, because the tests start programs from our sources many hundreds of times.
  NODE_COMPILE_CACHE: path.join(cacheDirectory, 'compiled'),
  ...(!isFull && { TEST_SUITE: 'core' }),
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
  const nodeModules = ensureNodeModules()
  await Promise.all([nodeModules, ensurePythonEnvironment(), ensureTestEnvironment({ isFull, nodeModules })])
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
  if (checks.some(({ name }) => name === 'integration')) nameUntested(readTestEnvironment())
  const results = readResults(resultDirectory)
  say(table(ran, results, performance.now() - beganAt))
  if (isFull && skipped(results) !== '') say(skipped(results))
  if (triedAgain(results) !== '') say(triedAgain(results))
  const counted = isFull && !given.includes('--allow-retries') ? withRetriesFailed(results) : results
  if (Object.values(counted).some(({ failed }) => failed > 0)) process.exitCode = 1
  say(sums(counted, 0))
}
