import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryDirectory {
  path: string
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The parent of in-memory directories. A run of all tests sets another one (scripts/no-leftovers.mjs). */
const MEMORY = process.env['TEST_MEMORY'] ?? '/dev/shm'

/** Use it as `await using directory = await makeTemporaryDirectory()`. `inMemory` is for tests that write a lot. */
export async function makeTemporaryDirectory(options: { inMemory?: boolean } = {}): Promise<TemporaryDirectory> {
  const parent = options.inMemory === true && existsSync(MEMORY) ? MEMORY : tmpdir()
  const path = await mkdtemp(join(parent, 'scrapdeck-test-'))
  const remove = () => rm(path, { recursive: true, force: true })
  return { path, remove, [Symbol.asyncDispose]: remove }
}
