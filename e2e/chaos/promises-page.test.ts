import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { WHOLE_RUN } from './plan.ts'

const root = new URL('../../', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')
const page = read('docs/promises.md')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }

function row(words: string): string[] {
  const line = page.split('\n').find((one) => one.startsWith(`| ${words}`))
  if (line === undefined) throw new Error(`docs/promises.md has no row that begins with: ${words}`)
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

/**
 * Returns the value of the constant `FILE NAME`. Reads it from the source text, because most constants are not
 * exported.
 */
function constantOf(where: string): number {
  const [file, name] = where.split(' ')
  const found = new RegExp(`\\b${name}(?: =|:) ([\\d_ *]+)`).exec(read(`src/engine/${file}`))?.[1]
  if (found === undefined) throw new Error(`src/engine/${file} gives ${name} no number`)
  return found.split('*').reduce((product, factor) => product * Number(factor.trim().replaceAll('_', '')), 1)
}

describe('docs/promises.md', () => {
  it('names only commands that exist', () => {
    const named = [...page.matchAll(/`npm (?:run )?([\w-]+)/g)].map(([, name]) => name!)
    expect(named).toContain('chaos')
    for (const name of named) expect(Object.keys(scripts)).toContain(name)
  })

  it('names only benches that exist, with figures that they print', () => {
    const rows = [...page.matchAll(/^\| `npm run bench -- ([\w-]+)` \| ([^|]+) \|/gm)]
    expect(rows).toHaveLength(5)
    for (const [, bench, cell] of rows) {
      const text = read(`bench/${bench}.ts`)
      for (const [, figure] of cell!.matchAll(/`(\w+)`/g)) expect({ bench, text }.text).toContain(`'${figure}'`)
    }
  })

  it('gives a measured value for each figure', () => {
    const rows = page.split('\n').filter((line) => /^\|( `npm run|  *\| )/.test(line))
    const figures = rows.filter((line) => line.split('|').length === 6)
    expect(figures.length).toBeGreaterThan(12)
    for (const line of figures) expect(line.split('|')[4]!.trim()).not.toBe('')
  })

  it('describes what the chaos run does, with its numbers', () => {
    const { jobs, engineKills, nodeKills, realEvery } = WHOLE_RUN
    const told = page.slice(page.indexOf('- **`chaos`**'))
    for (const text of [
      jobs.toLocaleString('en-GB'),
      `the engine ${engineKills} times`,
      `nodes ${nodeKills} times`,
      `every ${realEvery}th job`
    ]) {
      expect(told).toContain(text)
    }
  })

  it.each([
    ['Poll interval of a node that has jobs', ['nodes/observer.ts BUSY_INTERVAL_MS']],
    ['Poll interval of an idle node', ['nodes/observer.ts IDLE_INTERVAL_MS']],
    ['Poll interval of a node that does not respond', ['nodes/observer.ts DOWN_INTERVAL_MAX_MS']],
    ['Timeout for `daemonstatus.json`', ['nodes/scrapyd/scrapyd-client.ts daemonStatusMs']],
    ['Timeout for a job list', ['nodes/scrapyd/scrapyd-client.ts listJobsMs']],
    ['Timeout for `schedule.json`', ['nodes/scrapyd/scrapyd-client.ts scheduleMs']],
    ['Timeout for an egg upload', ['nodes/scrapyd/scrapyd-client.ts eggMs']],
    ['Timeout for a chunk of a log', ['nodes/scrapyd/scrapyd-client.ts logMs']],
    ['Timeout for anything else', ['nodes/scrapyd/scrapyd-client.ts otherMs']],
    [
      'An uncertain job is proved absent',
      [
        'jobs/dispatch/following/follower.ts NODE_POLL_INTERVAL_MS',
        'jobs/dispatch/following/follower.ts TAKEN_OVER_APART_MS'
      ]
    ],
    ['An orphan whose log does not grow', ['jobs/dispatch/following/follower.ts ORPHAN_SILENCE_MS']],
    [
      'A node is stuck',
      [
        'jobs/dispatch/decide/watchdog.ts PATIENCE_MS',
        'jobs/dispatch/decide/watchdog.ts PROBATION_FIRST_MS',
        'jobs/dispatch/decide/watchdog.ts PROBATION_MAX_MS'
      ]
    ],
    [
      'A job that a node refused',
      ['jobs/dispatch/placing/refusal-backoff.ts FIRST_MS', 'jobs/dispatch/placing/refusal-backoff.ts MAX_MS']
    ]
  ])('states the time limits of the engine: %s', (words, constants) => {
    const told = [...row(words)[1]!.matchAll(/(\d+) (s|min)\b/g)].map(
      ([, count, unit]) => Number(count) * (unit === 's' ? 1_000 : 60_000)
    )
    expect(told).toEqual(constants.map(constantOf))
  })

  it('links only to pages that exist', () => {
    for (const [, file] of page.matchAll(/\]\(([\w.-]+\.md)/g)) {
      expect(existsSync(new URL(`docs/${file}`, root))).toBe(true)
    }
  })
})
