import type { AlertChannelId, AlertId, AlertRule, AlertRuleId, NodeId } from '../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch, isBreach } from '../../../shared/alert-watches.ts'
import { readsSame } from '../../../shared/texts/message.ts'
import { Heap } from '../../runtime/heap.ts'
import type { AlertMemory } from '../../model/records.ts'
import { type AlertMessage, CALM_MS, copyOf, type Episode, type Group, isFiring } from './episodes.ts'
import { areSameLabels, type Signal, RuleIndex } from './signal.ts'
import { mutedBecause, type Muting, nextSilenceMs } from './muting.ts'
import { Places } from './places.ts'
import { RecentEnds } from './recent-ends.ts'
import { type AlertChannelSetup, type HeldMessages, Notifier } from './notifier.ts'

export interface AlertSetup {
  rules: readonly AlertRule[]
  channels: ReadonlyMap<AlertChannelId, AlertChannelSetup>
  muting: Omit<Muting, 'downNodes'>
}

/** Changes since the last `take`, as copies. */
export interface AlertChanges {
  messages: AlertMessage[]
  episodes: Episode[]
  forgotten: AlertId[]
  groups: Group[]
  endedGroups: string[]
}

interface Due {
  atMs: number
  /** Work due at the same time is done in this order: alerts end before others fire or escalate. */
  rank: 0 | 1
  act: (atMs: number) => void
}

/**
 * The life cycle of alerts, without clock, store or network (see README.md). Due work is done in chronological order,
 * as of its due time, so the frequency of calls does not matter.
 */
export class AlertBook {
  readonly #newId: () => AlertId
  #setup: AlertSetup = { rules: [], channels: new Map(), muting: { silences: [], cordonedNodes: new Set() } }
  #rules = new Map<AlertRuleId, AlertRule>()
  #index = new RuleIndex([])
  readonly #places = new Places()
  readonly #byId = new Map<AlertId, Episode>()
  readonly #ends = new RecentEnds()
  readonly #downs = new Map<NodeId, Set<Episode>>()
  /** Nodes with a `node_down` alert in a group of an enabled channel. */
  readonly #downNodes = {
    has: (id: NodeId) => [...(this.#downs.get(id) ?? [])].some((one) => this.#isReported(one))
  }
  readonly #due = new Heap<Due>([], (one, other) =>
    one.atMs === other.atMs ? one.rank < other.rank : one.atMs < other.atMs
  )
  readonly #firesAt = new WeakMap<Episode, number>()
  readonly #escalatesAt = new WeakMap<Episode, number>()
  #silenceAtMs: number | null = null
  readonly #notifier = new Notifier({
    ruleOf: (id) => this.#rules.get(id),
    channelOf: (id) => this.#setup.channels.get(id),
    isMuted: (one, atMs) => this.mutedBecause(one, atMs) !== null,
    onChange: (one) => this.#record(one)
  })
  #changed = new Set<Episode>()
  #forgotten: AlertId[] = []

  constructor(newId: () => AlertId) {
    this.#newId = newId
  }

  /**
   * Continues where another book stopped, and does the work that became due since then. No alert ends before its
   * signals arrive.
   */
  restore({ episodes, groups, sent }: AlertMemory, setup: AlertSetup, nowMs: number): void {
    this.#setUp(setup, nowMs)
    const live = episodes.filter((one) => one.state !== 'resolved' || Object.keys(one.channels).length > 0)
    for (const one of episodes) if (one.state === 'resolved') this.#ends.add(one, one.endedAtMs!)
    for (const one of live) {
      this.#byId.set(one.id, one)
      if (one.state === 'resolved') continue
      this.#places.of(one).open.set(one.ruleId, one)
      if (isFiring(one)) this.#countDown(one, 1)
      if (one.state === 'calming') this.#planBelief(one, nowMs)
    }
    this.#notifier.restore(groups, sent, live)
    this.#step(nowMs, () => this.#applySetup(nowMs))
  }

  configure(setup: AlertSetup, nowMs: number): void {
    this.#step(nowMs, () => {
      this.#setUp(setup, nowMs)
      this.#applySetup(nowMs)
    })
  }

  receive(signal: Signal, nowMs: number): void {
    this.#step(nowMs, () => this.#receive(signal, nowMs))
  }

  forget(watch: AlertWatch, key: string, nowMs: number): void {
    this.#step(nowMs, () => this.#forget(watch, key, nowMs))
  }

  /**
   * Receives all current signals of the watch. A watched thing without a signal has disappeared, unless its key is in
   * `unknown`.
   */
  receiveAll(
    watch: AlertWatch,
    signals: readonly Signal[],
    nowMs: number,
    unknown: ReadonlySet<string> = new Set()
  ): void {
    this.#step(nowMs, () => {
      const keys = new Set(signals.map(({ key }) => key))
      for (const key of this.#places.keysOf(watch))
        if (!keys.has(key) && !unknown.has(key)) this.#forget(watch, key, nowMs)
      for (const signal of signals) this.#receive(signal, nowMs)
    })
  }

  /** Returns how many of these alerts were firing and not yet acknowledged. */
  acknowledge(ids: readonly AlertId[], by: string, nowMs: number): number {
    let count = 0
    this.#step(nowMs, () => {
      for (const id of ids) {
        const one = this.#byId.get(id)
        if (one === undefined || !isFiring(one) || one.acknowledged !== null) continue
        one.acknowledged = { by, atMs: nowMs }
        this.#notifier.touch(one)
        this.#record(one)
        count += 1
      }
    })
    return count
  }

  /** Returns how many of these alerts were firing and acknowledged. Escalates alerts whose escalation is overdue. */
  unacknowledge(ids: readonly AlertId[], nowMs: number): number {
    let count = 0
    this.#step(nowMs, () => {
      for (const id of ids) {
        const one = this.#byId.get(id)
        if (one === undefined || !isFiring(one) || one.acknowledged === null) continue
        one.acknowledged = null
        this.#record(one)
        this.#notifier.touch(one)
        this.#planEscalation(one, nowMs)
        count += 1
      }
    })
    return count
  }

  /**
   * Sends all messages that are due. Other methods send only messages that were due earlier, so that each message
   * contains everything known at its due time.
   */
  advance(nowMs: number): void {
    this.#step(nowMs, () => undefined)
    this.#notifier.lookAt(nowMs)
    this.#notifier.lookAtLimited(nowMs)
    this.#notifier.repeat(nowMs)
  }

  nextAtMs(): number | null {
    const dueMs = this.#due.first()?.atMs ?? Number.POSITIVE_INFINITY
    const nextMs = Math.min(dueMs, this.#notifier.nextMs())
    return Number.isFinite(nextMs) ? nextMs : null
  }

  take(): AlertChanges {
    const changes = {
      ...this.#notifier.take(),
      episodes: [...this.#changed].map(copyOf),
      forgotten: this.#forgotten
    }
    this.#changed = new Set()
    this.#forgotten = []
    return changes
  }

  open(): Iterable<Episode> {
    return this.#places.open()
  }

  get(id: AlertId): Episode | undefined {
    return this.#byId.get(id)
  }

  mutedBecause(one: Episode, nowMs: number): ReturnType<typeof mutedBecause> {
    return mutedBecause(one, { ...this.#setup.muting, downNodes: this.#downNodes }, nowMs)
  }

  held(nowMs: number): Map<AlertChannelId, HeldMessages> {
    return this.#notifier.held(nowMs)
  }

  isFlapping(one: Episode, nowMs: number): boolean {
    return one.state === 'calming' || this.#ends.isFlapping(one, nowMs)
  }

  /**
   * Does all work that is due, then calls `act`. Messages due exactly at `nowMs` wait for other changes at that time.
   */
  #step(nowMs: number, act: () => void): void {
    for (;;) {
      const dueMs = this.#due.first()?.atMs ?? Number.POSITIVE_INFINITY
      const lookMs = this.#notifier.nextLookMs()
      if (dueMs <= nowMs && dueMs <= lookMs) this.#doDue(dueMs)
      else if (lookMs < nowMs) this.#notifier.lookAt(lookMs)
      else break
    }
    act()
    this.#notifier.plan(nowMs)
  }

  #doDue(atMs: number): void {
    for (let next = this.#due.first(); next?.atMs === atMs; next = this.#due.first()) {
      this.#due.removeFirst()
      next.act(atMs)
    }
    this.#notifier.plan(atMs)
  }

  #setUp(setup: AlertSetup, nowMs: number): void {
    this.#setup = setup
    this.#rules = new Map(setup.rules.map((rule) => [rule.id, rule]))
    this.#index = new RuleIndex(setup.rules)
    this.#planSilences(nowMs)
  }

  #applySetup(nowMs: number): void {
    for (const { signal, open } of this.#places.all()) if (signal !== null) this.#judge(open, signal, nowMs)
    for (const one of this.open()) {
      const rule = this.#rules.get(one.ruleId)
      if (rule?.enabled !== true) this.#end(one, nowMs, true)
      else if (isFiring(one)) {
        this.#notifier.join(one, rule, rule.channels)
        if (one.isEscalated) this.#notifier.join(one, rule, rule.escalation?.channels ?? [])
        this.#planEscalation(one, nowMs)
      }
    }
    this.#notifier.touchAll()
  }

  #planSilences(nowMs: number): void {
    const nextMs = nextSilenceMs(this.#setup.muting.silences, nowMs)
    if (nextMs === this.#silenceAtMs) return
    this.#silenceAtMs = nextMs
    if (nextMs === null) return
    this.#at(nextMs, 1, (atMs) => {
      if (this.#silenceAtMs !== atMs) return
      this.#notifier.touchAll()
      this.#planSilences(atMs)
    })
  }

  #at(atMs: number, rank: Due['rank'], act: Due['act']): void {
    this.#due.push({ atMs, rank, act })
  }

  #receive(signal: Signal, nowMs: number): void {
    const place = this.#places.of(signal)
    place.signal = signal.sinceMs > nowMs ? { ...signal, sinceMs: nowMs } : signal
    this.#judge(place.open, place.signal, nowMs)
  }

  #forget(watch: AlertWatch, key: string, nowMs: number): void {
    const place = this.#places.get(watch, key)
    if (place === undefined) return
    place.signal = null
    for (const one of place.open.values()) this.#end(one, nowMs)
    this.#places.dropIfEmpty(watch, key)
  }

  #judge(open: ReadonlyMap<AlertRuleId, Episode>, signal: Signal, nowMs: number): void {
    const rules = this.#index.of(signal)
    for (const one of open.values()) if (!rules.some(({ id }) => id === one.ruleId)) this.#end(one, nowMs)
    for (const rule of rules) {
      const one = open.get(rule.id)
      if (!isBreach(rule, signal.value)) {
        if (one !== undefined) this.#end(one, nowMs)
      } else if (one === undefined) this.#begin(rule, signal, nowMs)
      else this.#goOn(one, rule, signal, nowMs)
    }
  }

  #begin(rule: AlertRule, signal: Signal, nowMs: number): void {
    const { id: ruleId, name: ruleName, severity, owner } = rule
    const { watch, key, value, subject, text, labels, sinceMs } = signal
    const one: Episode = {
      id: this.#newId(),
      ruleId,
      ruleName,
      severity,
      owner,
      watch,
      key,
      value,
      subject,
      text,
      labels,
      state: 'pending',
      sinceMs,
      firedAtMs: null,
      endedAtMs: null,
      resolvedAtMs: null,
      acknowledged: null,
      isEscalated: false,
      channels: {}
    }
    this.#byId.set(one.id, one)
    this.#places.of(one).open.set(ruleId, one)
    this.#record(one)
    this.#planFiring(one, rule, nowMs)
  }

  #goOn(one: Episode, rule: AlertRule, { value, subject, text, labels, sinceMs, watch }: Signal, nowMs: number): void {
    if (!areSameLabels(one.labels, labels)) {
      if (isFiring(one)) this.#countDown(one, -1)
      one.labels = labels
      if (isFiring(one)) this.#countDown(one, 1)
      this.#notifier.touch(one)
      this.#record(one)
    }
    if (one.value !== value || !readsSame(one.text, text) || !readsSame(one.subject, subject)) {
      Object.assign(one, { value, text, subject })
      this.#record(one)
    }
    if (one.state === 'calming') {
      Object.assign(one, { state: 'firing', endedAtMs: null })
      this.#record(one)
    }
    if (one.state !== 'pending') return
    // The clock may have been set back, or the breach may have paused between two signals.
    const knownMs = Math.min(one.sinceMs, nowMs)
    const beganMs = ALERT_WATCHES[watch].unit === 'yes_no' ? Math.max(knownMs, sinceMs) : knownMs
    if (beganMs !== one.sinceMs) {
      one.sinceMs = beganMs
      this.#record(one)
    }
    this.#planFiring(one, rule, nowMs)
  }

  #planFiring(one: Episode, rule: AlertRule, nowMs: number): void {
    const dueMs = one.sinceMs + rule.forSeconds * 1_000
    if (dueMs <= nowMs) return this.#fire(one, rule, nowMs)
    if (this.#firesAt.get(one) === dueMs) return
    this.#firesAt.set(one, dueMs)
    this.#at(dueMs, 1, (atMs) => {
      const now = this.#rules.get(one.ruleId)
      if (one.state === 'pending' && now !== undefined && this.#firesAt.get(one) === atMs) this.#fire(one, now, atMs)
    })
  }

  #fire(one: Episode, rule: AlertRule, atMs: number): void {
    Object.assign(one, { state: 'firing', firedAtMs: atMs })
    this.#record(one)
    this.#countDown(one, 1)
    this.#notifier.join(one, rule, rule.channels)
    this.#planEscalation(one)
  }

  /**
   * Plans the escalation of an alert. If `nowMs` is given and the escalation is due, escalates immediately, because
   * the rule may have changed.
   */
  #planEscalation(one: Episode, nowMs = Number.NEGATIVE_INFINITY): void {
    const escalation = this.#rules.get(one.ruleId)?.escalation
    if (escalation == null || one.firedAtMs === null || one.isEscalated || !isFiring(one)) return
    const dueMs = one.firedAtMs + escalation.afterSeconds * 1_000
    if (dueMs <= nowMs) return this.#escalate(one)
    if (this.#escalatesAt.get(one) === dueMs) return
    this.#escalatesAt.set(one, dueMs)
    this.#at(dueMs, 1, (atMs) => {
      if (this.#escalatesAt.get(one) === atMs) this.#escalate(one)
    })
  }

  #escalate(one: Episode): void {
    const rule = this.#rules.get(one.ruleId)
    if (one.isEscalated || !isFiring(one) || one.acknowledged !== null || !rule?.escalation) return
    one.isEscalated = true
    this.#record(one)
    this.#notifier.join(one, rule, rule.escalation.channels)
    // The alert now fires. If a channel reports it, the node's other alerts are muted.
    if (one.watch === 'node_down') this.#notifier.touchAll()
  }

  #end(one: Episode, nowMs: number, isCertain = false): void {
    if (one.state === 'pending') {
      this.#places.close(one)
      this.#byId.delete(one.id)
      this.#changed.delete(one)
      this.#forgotten.push(one.id)
      this.#firesAt.delete(one)
    } else if (one.state === 'firing' && !isCertain && this.#ends.isFlapping(one, nowMs)) {
      Object.assign(one, { state: 'calming', endedAtMs: nowMs })
      this.#record(one)
      this.#planBelief(one, nowMs)
    } else if (one.state === 'firing' || isCertain) this.#resolve(one, nowMs)
  }

  #planBelief(one: Episode, nowMs: number): void {
    this.#at(Math.max(nowMs, one.endedAtMs! + CALM_MS), 0, (atMs) => {
      if (one.state === 'calming' && one.endedAtMs! + CALM_MS <= atMs) this.#resolve(one, atMs)
    })
  }

  #resolve(one: Episode, atMs: number): void {
    this.#countDown(one, -1)
    Object.assign(one, { state: 'resolved', endedAtMs: atMs, resolvedAtMs: atMs })
    this.#places.close(one)
    this.#ends.add(one, atMs)
    this.#notifier.touch(one)
    this.#record(one)
  }

  #record(one: Episode): void {
    this.#changed.add(one)
    if (one.state === 'resolved' && Object.keys(one.channels).length === 0) this.#byId.delete(one.id)
  }

  #countDown(one: Episode, by: 1 | -1): void {
    const { nodeId } = one.labels
    if (one.watch !== 'node_down' || nodeId === null) return
    const downs = this.#downs.get(nodeId) ?? new Set()
    if (by === 1) downs.add(one)
    else downs.delete(one)
    if (downs.size > 0) this.#downs.set(nodeId, downs)
    else this.#downs.delete(nodeId)
    this.#notifier.touchAll()
  }

  #isReported({ channels }: Episode): boolean {
    return Object.keys(channels).some((id) => this.#setup.channels.has(id as AlertChannelId))
  }
}
