import pLimit from 'p-limit'
import type { Alert, AlertEvidence, AlertNews } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/notify.ts'
import type { EvidenceParts } from './read-evidence.ts'
import { type Wanted, wantedForAlert, wantedForNews } from './wanted.ts'

const READ_AT_ONCE = 4
const WAITING_AT_MOST = 20

export class Evidence {
  readonly #parts: EvidenceParts
  readonly #aFew = pLimit(READ_AT_ONCE)

  constructor(parts: EvidenceParts) {
    this.#parts = parts
  }

  forNews(news: AlertNews): Promise<AlertEvidence> {
    return this.#read(wantedForNews(news))
  }

  async forAlert(alert: Alert): Promise<AlertEvidence> {
    if (this.#aFew.pendingCount >= WAITING_AT_MOST)
      throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('notify.alert_logs_being_read'))
    return this.#aFew(() => this.#read(wantedForAlert(alert, this.#parts.clock.nowMs())))
  }

  async #read(wanted: Wanted): Promise<AlertEvidence> {
    // Loaded with the first alert, because most engines run for a long time without one.
    const { readEvidence } = await import('./read-evidence.ts')
    return readEvidence(this.#parts, wanted)
  }
}
