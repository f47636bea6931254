import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const LIMIT_MS = 600_000

/** Returns the output of `npm run simulate`. If it fails, throws an Error with that output. */
export function runSimulation(...words: string[]): string {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    encoding: 'utf8',
    timeout: LIMIT_MS
  })
  if (status !== 0) throw new Error(`npm run simulate -- ${words.join(' ')} ended with ${status}\n${stderr}\n${stdout}`)
  return stdout
}
