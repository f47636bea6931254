import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { startService, TEST_CREDENTIALS } from '../support/service.ts'

const THEIRS = join(import.meta.dirname, 'scrapyd-own-tests')

describe("Scrapyd's own integration tests, all 31, pass", () => {
  it.each([
    ['with local slots', 2],
    ['without', 0]
  ])('%s', async (_, localSlots) => {
    await using directory = await makeTemporaryDirectory()
    const service = await startService({ localSlots })
    try {
      await copyFor(service.address, directory.path)
      expect(await runPytest(directory.path)).toMatch(/^31 passed in /m)
    } finally {
      await service.stop()
    }
  })
})

/** Copies Scrapyd's tests, and replaces the server address and credentials in them. */
async function copyFor(address: string, directory: string): Promise<void> {
  await cp(THEIRS, directory, { recursive: true })
  const tests = join(directory, 'integration_tests')
  for (const name of await readdir(tests)) {
    const source = await readFile(join(tests, name), 'utf8')
    const adapted = source
      .replaceAll('http://127.0.0.1:6800', address)
      .replaceAll('hello12345', TEST_CREDENTIALS.username)
      .replaceAll('67890world', TEST_CREDENTIALS.password)
    await writeFile(join(tests, name), adapted)
  }
}

async function runPytest(directory: string): Promise<string> {
  const { python } = readTestEnvironment()
  const args = ['-m', 'pytest', '-q', '--color=no', '-p', 'no:cacheprovider', 'integration_tests']
  const child = spawn(python, args, { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return output
}
