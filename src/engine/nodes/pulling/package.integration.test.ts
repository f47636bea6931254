import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { readTestEnvironment } from '../../../../scripts/setup/test-environment.mjs'

const directory = resolve(import.meta.dirname, '../../../../resources/python/node')

it('the Python tests of the package for nodes pass', async () => {
  const { stderr } = await promisify(execFile)(
    readTestEnvironment().python,
    ['-W', 'error::ResourceWarning', '-m', 'unittest', 'discover', '--start-directory', 'tests'],
    {
      cwd: directory,
      env: { ...process.env, PYTHONPATH: `${directory}:${directory}/tests`, PYTHONDONTWRITEBYTECODE: '1' }
    }
  )
  expect(stderr).toMatch(/Ran \d{2,} tests[^]*OK/)
})
