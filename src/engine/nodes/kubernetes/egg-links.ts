import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import type { Clock } from '../../runtime/clock.ts'

/** What a link stands for: the egg of one run, whatever else its holder may want. */
export interface LinkedEgg {
  project: ProjectName
  version: VersionName
  /** The link works while this run is live. */
  jobid: string
}

/** A pod may wait for room for hours. A link also ends with its run, so it mostly lives much shorter. */
const VALID_MS = 24 * 60 * 60_000
const LONGEST_TOKEN = 4_000

/** Signs and reads the tokens with which pods fetch their egg; they need no other credentials. */
export class EggLinks {
  readonly #key: Buffer
  readonly #clock: Pick<Clock, 'nowMs'>

  /** `key`: hex; the same after a restart, and on every engine of a store. */
  constructor({ key, clock }: { key: string; clock: Pick<Clock, 'nowMs'> }) {
    this.#key = Buffer.from(key, 'hex')
    this.#clock = clock
  }

  sign({ project, version, jobid }: LinkedEgg): string {
    const untilMs = this.#clock.nowMs() + VALID_MS
    const content = Buffer.from(JSON.stringify([project, version, jobid, untilMs])).toString('base64url')
    return `${content}.${this.#signatureOf(content).toString('base64url')}`
  }

  /** null: not signed by us, or expired. */
  read(token: string): LinkedEgg | null {
    if (token.length > LONGEST_TOKEN) return null
    const [content = '', signature = ''] = token.split('.')
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#signatureOf(content)
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
    const [project, version, jobid, untilMs] = JSON.parse(Buffer.from(content, 'base64url').toString('utf8'))
    return this.#clock.nowMs() < untilMs ? { project, version, jobid } : null
  }

  #signatureOf(content: string): Buffer {
    return createHmac('sha256', this.#key).update('egg link\n').update(content).digest()
  }
}
