import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { openLogFiles } from './log-files.ts'

test('warnings of the console and of the logger are in a file that only this user can read', async () => {
  await using directory = await makeTemporaryDirectory()
  const { warn, error } = console
  const shown = vi.fn()
  console.warn = shown
  try {
    const logs = openLogFiles(join(directory.path, 'logs'))
    console.warn('the window did not load', new Error('a planted one'))
    logs.logger('info').info({ node: 'n1' }, 'a node responds again')
    await logs.close()
    const path = join(directory.path, 'logs', 'scrapdeck.log')
    const text = readFileSync(path, 'utf8')
    expect(text).toMatch(/^\d{4}-.*Z warn the window did not load Error: a planted one/)
    expect(JSON.parse(text.split('\n').find((line) => line.startsWith('{'))!)).toMatchObject({ node: 'n1' })
    expect(statSync(path).mode & 0o077).toBe(0)
    expect(shown).toHaveBeenCalledTimes(1)
  } finally {
    Object.assign(console, { warn, error })
  }
})
