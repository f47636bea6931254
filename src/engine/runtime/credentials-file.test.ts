import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isScrapdeckError } from '../../shared/errors.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { readCredentials, readOrCreateCredentials } from './credentials-file.ts'
import { systemRandom } from './random.ts'

it('credentials are created once, kept, and readable by their user only', async () => {
  await using directory = await makeTemporaryDirectory()
  expect(readCredentials(directory.path)).toBeNull()
  const made = readOrCreateCredentials(directory.path, systemRandom)
  expect(made).toEqual({ username: 'scrapdeck', password: expect.stringMatching(/^[0-9a-f]{32}$/) })
  expect(readOrCreateCredentials(directory.path, systemRandom)).toEqual(made)
  expect(statSync(join(directory.path, 'credentials.json')).mode & 0o777).toBe(0o600)
})

it('given credentials replace the stored ones, so that the file is always right', async () => {
  await using directory = await makeTemporaryDirectory()
  readOrCreateCredentials(directory.path, systemRandom)
  const given = { username: 'ann', password: 'a:b' }
  expect(readOrCreateCredentials(directory.path, systemRandom, given)).toEqual(given)
  expect(readCredentials(directory.path)).toEqual(given)
})

it.each([
  { username: 'a:b', password: 'x' },
  { username: '', password: 'x' },
  { username: 'a', password: '' }
])('%o cannot be used, and the stored ones stay', async (given) => {
  await using directory = await makeTemporaryDirectory()
  const kept = readOrCreateCredentials(directory.path, systemRandom)
  expect(() => readOrCreateCredentials(directory.path, systemRandom, given)).toThrow(
    expect.objectContaining({ code: 'BAD_INPUT' })
  )
  expect(readCredentials(directory.path)).toEqual(kept)
})

it('a damaged file is reported by name, and left unchanged', async () => {
  await using directory = await makeTemporaryDirectory()
  const file = join(directory.path, 'credentials.json')
  writeFileSync(file, '{"username":')
  try {
    readOrCreateCredentials(directory.path, systemRandom)
    expect.unreachable()
  } catch (error) {
    expect(isScrapdeckError(error, 'DATA_DIRECTORY_UNUSABLE')).toBe(true)
    expect((error as Error).message).toContain(file)
  }
  expect(readFileSync(file, 'utf8')).toBe('{"username":')
})
