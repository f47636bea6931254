import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function makeTestDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-server-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
