/** Virtual environments with exactly the packages that a requirements file pins. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import {
  cacheDirectory,
  isWindows,
  pythonEnvironmentDirectory,
  pythonIn,
  inRoot,
  testPythonDirectory
} from './platform.mjs'
import { hashOf, isStamped, removeStamp, stamp } from './stamps.mjs'
import { StepFailed, runCommand, step } from './steps.mjs'

/** With these, pip refuses every package whose name, version and hash are not in the requirements. */
export const LOCKED = ['--disable-pip-version-check', '--no-input', '--require-hashes']

const OLDEST = [3, 10]
const CANDIDATES = isWindows
  ? ['python', 'py']
  : ['python3', 'python', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python3.14']

/** `.venv` with Scrapy, in which the local node runs spiders. @returns {Promise<string>} its Python */
export const ensurePythonEnvironment = () =>
  ensureEnvironment({
    title: 'Python environment with Scrapy (.venv)',
    directory: pythonEnvironmentDirectory,
    requirements: inRoot('resources', 'python', 'requirements.txt')
  })

/** Real Scrapyd servers and clients for tests and the demo. @returns {Promise<string>} its Python */
export const ensureTestPythonEnvironment = () =>
  ensureEnvironment({
    title: 'Python environment for tests, with Scrapyd',
    directory: testPythonDirectory,
    requirements: inRoot('resources', 'python', 'requirements-test.txt')
  })

/** What `npm run bench -- log-parse` compares with. @returns {Promise<string>} its Python */
export const ensureLogParser = () =>
  ensureEnvironment({
    title: 'Python environment with LogParser',
    directory: path.join(cacheDirectory, 'python-logparser'),
    requirements: inRoot('resources', 'python', 'requirements-logparser.txt')
  })

/**
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.directory
 * @param {string} options.requirements the file to install, complete and with hashes (scripts/lock-python.mjs)
 */
async function ensureEnvironment({ title, directory, requirements }) {
  const python = pythonIn(directory)
  const stampName = path.basename(directory)
  const wanted = hashOf([requirements])
  if (fs.existsSync(python) && isStamped(stampName, wanted)) return python
  await step(title, async () => {
    const base = findPython()
    removeStamp(stampName)
    fs.rmSync(directory, { recursive: true, force: true })
    await createEnvironment({ title, base, directory })
    await runCommand({
      title,
      command: python,
      args: ['-m', 'pip', 'install', ...LOCKED, '-r', requirements],
      next: 'check that this machine can reach PyPI (pip reads PIP_INDEX_URL and HTTPS_PROXY), then run the command again.'
    })
    stamp(stampName, wanted)
  })
  return python
}

/** @param {{ title: string, base: string, directory: string }} options */
async function createEnvironment({ title, base, directory }) {
  await runCommand({
    title,
    command: base,
    args: ['-m', 'venv', directory],
    next: 'on Debian and Ubuntu `sudo apt-get install python3-venv` adds what is missing; then run the command again.'
  })
}

/** @returns {string} a recent enough Python */
export function findPython() {
  const asked = process.env.SETUP_PYTHON
  const seen = []
  for (const candidate of asked ? [asked] : CANDIDATES) {
    const answer = spawnSync(candidate, ['-c', 'import sys; print(*sys.version_info[:2]); print(sys.executable)'], {
      encoding: 'utf8'
    })
    const [version = '', executable = ''] = (answer.stdout ?? '').trim().split(/\r?\n/)
    const [major = 0, minor = 0] = version.split(' ').map(Number)
    if (answer.status !== 0 || !executable) continue
    if (major === OLDEST[0] && minor >= (OLDEST[1] ?? 0)) return executable
    seen.push(`${candidate} is ${major}.${minor}`)
  }
  const found = seen.length > 0 ? ` (${seen.join(', ')})` : ''
  throw new StepFailed(
    'Python',
    `Python ${OLDEST.join('.')} or newer was not found${found}.\n` +
      '  What to do: install it (python.org, or your package manager), or name one in SETUP_PYTHON.'
  )
}
