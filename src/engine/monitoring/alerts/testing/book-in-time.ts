import type { AlertChannelId, AlertId, AlertRule, NodeId } from '../../../../shared/contract/index.ts'
import { branded, type Plain } from '../../../../shared/testing/ids.ts'
import { AlertBook, type AlertSetup } from '../alert-book.ts'
import type { AlertMessage } from '../episodes.ts'
import { type Signal, NO_LABELS } from '../signal.ts'
import type { AlertChannelSetup } from '../notifier.ts'

export const aRule = (over: Partial<Plain<AlertRule>> = {}): AlertRule =>
  branded({
    id: 'rule',
    name: 'Rule',
    enabled: true,
    watch: 'node_stuck',
    comparison: 'at_least',
    threshold: 1,
    forSeconds: 0,
    severity: 'warning',
    owner: '',
    channels: ['chat'],
    groupBy: 'rule',
    gatherSeconds: 30,
    repeatSeconds: null,
    escalation: null,
    revision: 1,
    createdAtMs: 1,
    project: null,
    spider: null,
    scheduleId: null,
    nodeId: null,
    nodeTag: null,
    ...over
  })

export const aSignal = (key: string, over: Partial<Plain<Signal>> = {}): Signal =>
  branded({
    watch: 'node_stuck',
    key,
    value: 1,
    sinceMs: 0,
    subject: key,
    text: `${key} is stuck`,
    labels: { ...NO_LABELS, nodeId: key as NodeId, nodeTags: [] },
    ...over
  })

export const aSetup = (
  rules: AlertRule[],
  muting: Partial<AlertSetup['muting']> = {},
  channel: Partial<AlertChannelSetup> = {}
): AlertSetup => ({
  rules,
  channels: new Map(
    ['chat', 'phone'].map((id) => [id as AlertChannelId, { quiet: null, messagesPerHour: null, ...channel }])
  ),
  muting: { silences: [], cordonedNodes: new Set(), ...muting }
})

export class BookInTime {
  book = new AlertBook(() => String((this.#count += 1)) as AlertId)
  #count = 0
  #nowMs = 0
  readonly #sent: string[] = []

  constructor(setup: AlertSetup) {
    this.book.restore({ episodes: [], groups: [], sent: [] }, setup, 0)
  }

  is(...signals: Signal[]): void {
    for (const signal of signals) this.book.receive({ ...signal, sinceMs: this.#nowMs }, this.#nowMs)
  }

  isNot(...signals: Signal[]): void {
    for (const signal of signals) this.book.receive({ ...signal, value: 0 }, this.#nowMs)
  }

  configure(setup: AlertSetup): void {
    this.book.configure(setup, this.#nowMs)
  }

  acknowledge(): void {
    const ids = [...this.book.open()].map(({ id }) => id)
    this.book.acknowledge(ids, 'ada', this.#nowMs)
  }

  unacknowledge(): number {
    const ids = [...this.book.open()].map(({ id }) => id)
    return this.book.unacknowledge(ids, this.#nowMs)
  }

  until(seconds: number): string[] {
    this.#nowMs = seconds * 1_000
    this.book.advance(this.#nowMs)
    this.#sent.push(...this.book.take().messages.map(wordsOf))
    return this.#sent.splice(0)
  }
}

function wordsOf({ atMs, channelId, kind, firing, resolved, stillFiring, limit }: AlertMessage): string {
  const parts = [`${atMs / 1_000} s, ${channelId}`]
  if (firing.length > 0)
    parts.push(`${kind === 'repeat' ? 'again' : 'firing'} ${firing.map(({ key }) => key).join(' ')}`)
  if (resolved.length > 0) parts.push(`resolved ${resolved.map(({ key }) => key).join(' ')}`)
  if (stillFiring > 0) parts.push(`${stillFiring} still firing`)
  if (limit !== null) parts.push(`${limit.all ? 'all' : 'others'} held until ${limit.heldUntilMs / 1_000} s`)
  return parts.join(', ')
}
