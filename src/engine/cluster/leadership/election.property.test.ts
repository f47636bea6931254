import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong, pickLength } from '../../../../scripts/test-length.mjs'
import { Election } from './election.ts'
import { FakeDatabase } from './testing/fake-database.ts'
import { DISTURBANCES, type Disturbance, liveThrough } from './testing/engines-in-time.ts'

const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  afterMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 9_000 })),
  kind: fc.constantFrom(...DISTURBANCES),
  engine: fc.nat({ max: 2 }),
  forMs: fc.oneof(fc.integer({ min: 1, max: 1_000 }), fc.integer({ min: 1, max: 20_000 }))
})
const story = { disturbances: fc.array(disturbance, { minLength: 1, maxLength: 20 }), seed: fc.nat() }

const property = (parts: { Election: typeof Election; Database?: typeof FakeDatabase }) =>
  fc.asyncProperty(fc.record(story), async ({ disturbances, seed }) => {
    const problem = await liveThrough(disturbances, { ...parts, engines: 3, seed })
    if (problem !== null) throw new Error(problem)
  })

test('two engines are never both certain to lead, and one leads whenever one can', { timeout: 300_000 }, async () => {
  await fc.assert(property({ Election }), { numRuns: pickLength(60, 2_000) })
})

interface Planted {
  file?: 'election.ts' | 'next-step.ts'
  changes?: [from: string, to: string][]
  Database?: typeof FakeDatabase
}

const PLANTED: Record<string, Planted> = {
  'a lease is valid from the answer, not from the question': {
    changes: [['askedAtMs + LEASE_MS', 'this.#options.clock.monotonicMs() + LEASE_MS']]
  },
  'a lease by the wall clock': { changes: [['clock.monotonicMs()', 'clock.nowMs()']] },
  'a lease by the clock of the database': {
    file: 'next-step.ts',
    changes: [['follower.unchangedMs >= LEASE_MS', 'lease.isExpired']]
  },
  'a free lock of a leader that never had it': {
    file: 'next-step.ts',
    changes: [['lease.gotLock && lease.hasLock', 'lease.gotLock']]
  },
  'a lease that is believed in after its connection was lost': {
    changes: [
      ['this.#isConnected = false\n    this.#hasLock = false\n    this.#validUntilMs = 0', 'this.#hasLock = false']
    ]
  },
  'an answer is waited for without end': { changes: [['ANSWER_MS = 4_500', 'ANSWER_MS = 100_000_000']] },
  'a renewal of another term': {
    Database: class extends FakeDatabase {
      override renew(lease: Parameters<FakeDatabase['renew']>[0]) {
        return super.renew({ ...lease, ...this.lease })
      }
    }
  },
  'a lease that was renewed after it was looked at is taken': {
    Database: class extends FakeDatabase {
      override take(claim: Parameters<FakeDatabase['take']>[0]) {
        return super.take({ ...claim, renewal: this.lease.renewal })
      }
    }
  },
  'a lease that another engine took is taken': {
    Database: class extends FakeDatabase {
      override take(claim: Parameters<FakeDatabase['take']>[0]) {
        return super.take({ ...claim, renewal: this.lease.renewal, epoch: this.lease.epoch })
      }
    }
  }
}

/** Some bugs show only after hundreds of stories, which only `npm run test:long` has time for. */
describe.runIf(isLong)('a planted bug is detected', () => {
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'scrapdeck-planted-'))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  test.each(Object.entries(PLANTED))('%s', { timeout: 300_000 }, async (_, { file, changes = [], Database }) => {
    const planted = await plant({ file: file ?? 'election.ts', changes })
    const options = { numRuns: 1_000, seed: 1, endOnFailure: true }
    const found = await fc.check(property({ Election: planted, ...(Database && { Database }) }), options)
    expect(found.failed).toBe(true)
    expect(String(found.errorInstance)).toMatch(/both certain to lead|no engine has led/)
  })

  async function plant({ file, changes }: Required<Omit<Planted, 'Database'>>): Promise<typeof Election> {
    const base = mkdtempSync(join(directory, 'one-'))
    for (const name of ['election.ts', 'next-step.ts'] as const) {
      let text = readFileSync(join(import.meta.dirname, name), 'utf8')
      for (const [from, to] of name === file ? changes : []) {
        if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
        text = text.replaceAll(from, to)
      }
      const code = stripTypeScriptTypes(text).replaceAll("'./next-step.ts'", "'./next-step.mjs'")
      writeFileSync(join(base, name.replace('.ts', '.mjs')), code)
    }
    return ((await import(pathToFileURL(join(base, 'election.mjs')).href)) as { Election: typeof Election }).Election
  }
})
