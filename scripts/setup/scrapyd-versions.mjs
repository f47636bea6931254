/**
 * The older Scrapyds that tests run against. PYTHONPATH selects one, so one Python environment serves all.
 *
 * Scrapyd up to 1.3 passes the log file to Scrapy in the environment (SCRAPY_LOG_FILE), which Scrapy 2.8 stopped
 * reading, and does not support Scrapy's asyncio reactor. It therefore gets a Scrapy of its time, with matching
 * w3lib, parsel and Twisted. Tested with CPython 3.11.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, inRoot } from './platform.mjs'
import { LOCKED } from './python-environment.mjs'
import { hashOf, isStamped, removeStamp, stamp } from './stamps.mjs'
import { runCommand, step, StepFailed } from './steps.mjs'

const SCRAPY_OF_ITS_TIME = ['Scrapy==2.7.1', 'w3lib==2.0.1', 'parsel==1.7.0', 'Twisted==22.10.0']

/** @type {Record<string, string[]>} version -> what is installed beside it */
export const OLDER = {
  '1.2.1': SCRAPY_OF_ITS_TIME,
  '1.3.0': SCRAPY_OF_ITS_TIME,
  '1.4.3': [],
  '1.5.0': []
}

const OLDEST = '1.2.1'

/** Written by `npm run lock:python`. @param {string} version */
export const requirementsOf = (version) => inRoot('resources', 'python', `requirements-scrapyd-${version}.txt`)

/**
 * Matches what pip prints when a package does not support this Python. Any other failure, such as no network, fails
 * the setup.
 */
const NOT_FOR_THIS_PYTHON =
  /Requires-Python|requires a different Python|metadata-generation-failed|Failed building wheel/

/** requirements-test.txt installs this version in the environment itself. */
const NEWEST = '1.6.0'

/**
 * @typedef {object} ScrapydInstallation
 * @property {string | null} pythonPath what to put into PYTHONPATH; null: nothing
 * @property {string | null} problem why it cannot run here; null: it can
 */

/**
 * Prepares the newest and the oldest version. `isFull` adds those between them, for `npm run test:full`.
 * @param {string} python of the test environment
 * @param {boolean} isFull
 * @returns {Promise<Record<string, ScrapydInstallation>>} by version
 */
export async function ensureScrapydVersions(python, isFull) {
  const versions = Object.keys(OLDER).filter((version) => isFull || version === OLDEST)
  const older = await Promise.all(
    versions.map(async (version) => /** @type {const} */ ([version, await ensureOlder(python, version)]))
  )
  return { ...newestScrapyd(python), ...Object.fromEntries(older) }
}

/** @param {string} python @param {string} version @returns {Promise<ScrapydInstallation>} */
async function ensureOlder(python, version) {
  const directory = path.join(cacheDirectory, `scrapyd-${version}`)
  const stampName = `scrapyd-${version}`
  const wanted = hashOf([requirementsOf(version)])
  if (!fs.existsSync(directory) || !isStamped(stampName, wanted)) {
    try {
      await install(python, version, directory)
    } catch (error) {
      if (!(error instanceof StepFailed && NOT_FOR_THIS_PYTHON.test(error.output))) throw error
      return { pythonPath: null, problem: lastLine(error.output) }
    }
    stamp(stampName, wanted)
  }
  return { pythonPath: directory, problem: findProblem(python, directory) }
}

/** The versions in the environment itself. @param {string} python @returns {Record<string, ScrapydInstallation>} */
export const newestScrapyd = (python) => ({ [NEWEST]: { pythonPath: null, problem: findProblem(python, null) } })

/** @param {string} python @param {string} version @param {string} directory */
function install(python, version, directory) {
  const title = `Scrapyd ${version}`
  return step(title, async () => {
    removeStamp(`scrapyd-${version}`)
    fs.rmSync(directory, { recursive: true, force: true })
    const pip = ['-m', 'pip', 'install', ...LOCKED, '--no-deps', '--target', directory, '-r', requirementsOf(version)]
    const next = 'check that this machine can reach PyPI, then run the command again.'
    await runCommand({ title, command: python, args: pip, next })
  })
}

/**
 * The last line of Python's error message if this Scrapyd cannot even be imported.
 * @param {string} python
 * @param {string | null} pythonPath
 */
function findProblem(python, pythonPath) {
  const answer = spawnSync(python, ['-c', 'import scrapyd.app, scrapyd.launcher, scrapyd.webservice, scrapyd.runner'], {
    encoding: 'utf8',
    env: { ...process.env, PYTHONPATH: pythonPath ?? '', PYTHONDONTWRITEBYTECODE: '' }
  })
  if (answer.status === 0) return null
  return lastLine(answer.stderr)
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split('\n').at(-1) || 'it ended without a word'
}
