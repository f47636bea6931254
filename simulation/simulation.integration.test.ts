import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { pickLength } from '../scripts/test-length.mjs'

const LIMIT_MS = 600_000
const STORIES = pickLength(30, 500)

/** Its output where it fails is the story of what went wrong. */
function simulate(...words: string[]): string {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...words], {
    encoding: 'utf8',
    timeout: LIMIT_MS
  })
  if (status !== 0) throw new Error(`npm run simulate -- ${words.join(' ')} ended with ${status}\n${stderr}\n${stdout}`)
  return stdout
}

it(
  `loses nothing and runs nothing twice in ${STORIES} stories in which everything goes wrong that can`,
  () => {
    expect(simulate('--seeds', String(STORIES))).toContain(`${STORIES} stories`)
  },
  LIMIT_MS
)

it(
  'tells the same story of a seed every time, in whatever company',
  () => {
    const hashes = (output: string) =>
      output
        .split('\n')
        .filter((line) => /^\d+ [0-9a-f]{12} /.test(line))
        .map((line) => line.slice(0, 20))
    const together = hashes(simulate('--seeds', '4', '--verbose')).sort()
    const alone = hashes(simulate('--seeds', '4', '--verbose', '--processes', '1')).sort()
    expect(together).toHaveLength(4)
    expect(alone.map((line) => line.split(' ')[1])).toEqual(together.map((line) => line.split(' ')[1]))
  },
  LIMIT_MS
)

it(
  'finds planted bugs',
  () => {
    const found = simulate('--mutants', '--quick', ...pickLength(['--only', 'a slot counts only'], []))
    expect(found.match(/^✓/gm)).toHaveLength(pickLength(1, 3))
  },
  LIMIT_MS
)
