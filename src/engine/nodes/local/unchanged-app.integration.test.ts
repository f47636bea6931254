import { execFileSync } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { findTestPython } from '../../testing/test-python.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'

test.each([
  ['warm.py', ''],
  ['crawl.py', '["hide"](["a secret value"])']
])('%s does not change the installed app, and modules of spiders are still cached', async (script, call) => {
  await using directory = await makeTemporaryDirectory()
  const app = join(directory.path, 'python')
  cpSync(resolve('resources/python'), app, { recursive: true, filter: (path) => !path.includes('__pycache__') })
  const program = `import runpy, sys; runpy.run_path(sys.argv[1])${call}; print(sys.dont_write_bytecode)`
  const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '' }
  const printed = execFileSync(findTestPython(), ['-c', program, join(app, script)], { encoding: 'utf8', env })
  expect(printed.trim()).toBe('False')
  expect(existsSync(join(app, '__pycache__'))).toBe(false)
})
