import { createHmac, timingSafeEqual } from 'node:crypto'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { EggToSend } from '../../projects/projects.ts'
import type { Clock } from '../../runtime/clock.ts'
import { asSealedText, type SecretBox } from '../../runtime/secret-box.ts'
import type { Tools } from '../../runtime/tools.ts'
import type { SettingStore } from '../../storage/store.ts'

export interface LinkedEgg {
  project: ProjectName
  version: VersionName
  /** The link works while this run is live. */
  jobid: string
}

/** How long a link is valid. A pod can wait hours for capacity. Most links expire earlier, when their run ends. */
const VALID_MS = 24 * 60 * 60_000
const LONGEST_TOKEN = 4_000
const KEY_BYTES = 32

/** Signs and verifies the tokens that pods use to fetch their egg. Pods need no other credentials. */
export class EggLinks {
  readonly #key: Buffer
  readonly #clock: Pick<Clock, 'nowMs'>

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

interface StoredLinksParts extends Tools {
  store: SettingStore
  secretBox: SecretBox
  isLive: (jobid: string) => boolean
  eggToSend: (project: ProjectName, version: VersionName) => EggToSend
}

/** Creates the signing key when the first link is needed and stores it encrypted. */
export class StoredEggLinks {
  readonly #parts: StoredLinksParts
  #opened: Promise<EggLinks> | null = null

  constructor(parts: StoredLinksParts) {
    this.#parts = parts
  }

  load(): Promise<EggLinks> {
    return (this.#opened ??= this.#readKey().then(
      (key) => new EggLinks({ key, clock: this.#parts.clock }),
      (error: unknown) => {
        this.#opened = null
        throw error
      }
    ))
  }

  /** Rejects with EGG_LINK_INVALID if the link is not ours or has expired, or if the run has ended. */
  async openEgg(token: string): Promise<EggToSend> {
    const linked = (await this.load()).read(token)
    if (linked === null || !this.#parts.isLive(linked.jobid)) {
      const text = sentence('nodes.egg_link_expired')
      throw new ScrapdeckError('EGG_LINK_INVALID', text)
    }
    return this.#parts.eggToSend(linked.project, linked.version)
  }

  async #readKey(): Promise<string> {
    const { store, secretBox, random, logger } = this.#parts
    const kept = await store.getSetting('kubernetes.linkKey')
    if (kept !== null) {
      try {
        return await secretBox.open(asSealedText(kept))
      } catch (error) {
        logger.warn({ error }, 'the key of links to eggs cannot be read here; pods that have not started yet will fail')
      }
    }
    const key = random.hex(KEY_BYTES)
    await store.putSetting('kubernetes.linkKey', await secretBox.seal(key))
    return key
  }
}
