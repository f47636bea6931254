/**
 * `npm run lock:python` writes resources/python/requirements*.txt from the files *.in beside them: every package,
 * for all systems and for Python 3.10 and newer, with the hashes of its wheels. pip builds none, because a build
 * would fetch tools that no hash covers.
 */
import fs from 'node:fs'
import path from 'node:path'
import { cacheDirectory, inRoot, pythonIn } from './setup/platform.mjs'
import { findPython } from './setup/python-environment.mjs'
import { OLDER, requirementsOf } from './setup/scrapyd-versions.mjs'
import { runCommand, showFailure, step } from './setup/steps.mjs'

const UV = 'uv==0.13.9'
const OLDEST_PYTHON = '3.10'
const directory = path.join(cacheDirectory, 'lock-python')
const place = (/** @type {string} */ name) => inRoot('resources', 'python', name)

/** @param {string} input @param {string} output @param {string[]} more */
async function lock(input, output, more) {
  const args = [
    ...['-m', 'uv', 'pip', 'compile', input, '--output-file', output, '--quiet', '--universal'],
    ...['--python-version', OLDEST_PYTHON, '--generate-hashes', '--no-annotate', '--emit-build-options'],
    ...['--custom-compile-command', 'npm run lock:python', ...more]
  ]
  await step(path.basename(output), () =>
    runCommand({ title: path.basename(output), command: pythonIn(directory), args })
  )
}

try {
  const title = 'uv'
  if (!fs.existsSync(pythonIn(directory))) {
    await runCommand({ title, command: findPython(), args: ['-m', 'venv', directory] })
  }
  await runCommand({ title, command: pythonIn(directory), args: ['-m', 'pip', 'install', UV] })
  // pypydispatcher is the only package without a wheel. Only PyPy needs it.
  const wheels = ['--only-binary', ':all:', '--no-binary', 'pypydispatcher']
  await lock(place('requirements.in'), place('requirements.txt'), wheels)
  const same = ['--constraint', place('requirements.txt')]
  await lock(place('requirements-test.in'), place('requirements-test.txt'), [...wheels, ...same])
  await lock(place('requirements-scrapyd.in'), place('requirements-scrapyd.txt'), [...wheels, ...same])
  await lock(place('requirements-logparser.in'), place('requirements-logparser.txt'), wheels)
  for (const [version, beside] of Object.entries(OLDER)) {
    const input = path.join(directory, `${version}.in`)
    fs.writeFileSync(input, [`scrapyd==${version}`, ...beside].join('\n'))
    await lock(input, requirementsOf(version), [...wheels, '--no-deps'])
  }
} catch (error) {
  showFailure(error)
  process.exit(1)
}
