import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/**
 * Runs `npm run setup` unless it has run before. Prints to standard error, because the figures use standard output.
 */
export function ensureSetUp(): void {
  if (existsSync(join(root, '.cache', 'test-environment.json'))) return
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), '--full', '--setup-only'], {
    cwd: root,
    stdio: ['ignore', 2, 2]
  })
  if (status !== 0) throw new Error('`npm run setup` failed; its output is above.')
}
