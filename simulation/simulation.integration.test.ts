import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { pickLength } from '../scripts/test-length.mjs'

const LIMIT_MS = 600_000
const STORIES = pickLength(30, 500)
const OF_SEVERAL = pickLength(6, 300)

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

/** Of the traces that a verbose run shows, by seed. */
const hashesOf = (output: string) =>
  new Map([...output.matchAll(/^(\d+) ([0-9a-f]{12}) /gm)].map(([, seed, hash]) => [Number(seed), hash]))

it(
  `loses nothing and runs nothing twice in ${STORIES} stories in which everything goes wrong that can; each seed tells the same story every time, in whatever company`,
  () => {
    const together = simulate('--seeds', String(STORIES), '--verbose')
    expect(together).toContain(`${STORIES} stories`)
    const alone = hashesOf(simulate('--seeds', '4', '--verbose', '--processes', '1'))
    expect([...alone.keys()].sort()).toEqual([1, 2, 3, 4])
    expect([...hashesOf(together)]).toEqual(expect.arrayContaining([...alone]))
  },
  LIMIT_MS
)

it(
  `three engines on one database lose nothing and run nothing twice in ${OF_SEVERAL} stories, the same every time`,
  () => {
    const several = ['--engines', '3', '--verbose', '--seeds']
    const together = simulate(...several, String(OF_SEVERAL))
    expect(together).toMatch(/[1-9]\d* {2}an engine leads/)
    const alone = hashesOf(simulate(...several, '2', '--processes', '1'))
    expect([...hashesOf(together)]).toEqual(expect.arrayContaining([...alone]))
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
