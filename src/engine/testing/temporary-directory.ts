import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryDirectory {
  path: string
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A directory of a test's own: `await using directory = await makeTemporaryDirectory()`, or `remove()` it. */
export async function makeTemporaryDirectory(): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'scrapdeck-test-'))
  const remove = () => rm(path, { recursive: true, force: true })
  return { path, remove, [Symbol.asyncDispose]: remove }
}
