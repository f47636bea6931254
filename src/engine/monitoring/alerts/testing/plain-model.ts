import type { AlertRule, AlertSilence, NodeId } from '../../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import { windowFrom } from '../../../../shared/calendar/windows.ts'
import type { AlertSetup } from '../alert-book.ts'
import type { Signal } from '../signal.ts'
import { quietUntilMs } from '../muting.ts'

export interface PlainEpisode {
  serial: number
  rule: Pick<AlertRule, 'id' | 'severity'>
  signal: Signal
  sinceMs: number
  state: 'pending' | 'firing' | 'calming' | 'resolved' | 'forgotten'
  firedAtMs: number | null
  endedAtMs: number | null
  isAcknowledged: boolean
  isEscalated: boolean
  groups: { channel: string; group: string; isTold: boolean }[]
}

interface PlainGroup {
  id: string
  channel: string
  ruleId: string
  lookAtMs: number | null
  lastToldMs: number | null
}

export interface PlainMessage {
  channel: string
  group: string
  kind: 'news' | 'repeat'
  firing: number[]
  resolved: number[]
  stillFiring: number
  atMs: number
  limit: { heldUntilMs: number; all: boolean } | null
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Implements README.md, rules 1 to 11, as naively as possible: it checks everything at each step. */
export class PlainModel {
  episodes: PlainEpisode[] = []
  messages: PlainMessage[] = []
  #groups: PlainGroup[] = []
  #sent: { channel: string; atMs: number }[] = []
  #signals: Signal[] = []
  #setup: AlertSetup
  /** The time up to which starts and ends of silences have been handled. */
  #silencesUntilMs: number
  #startedMs: number
  /** When the setup last changed. No message has an earlier time, even after a limit is removed. */
  #setUpMs: number
  #serial = 0
  #kept: { episodes: PlainEpisode[]; groups: PlainGroup[]; sent: { channel: string; atMs: number }[] } = {
    episodes: [],
    groups: [],
    sent: []
  }

  constructor(setup: AlertSetup, nowMs: number) {
    this.#setup = setup
    this.#silencesUntilMs = nowMs
    this.#startedMs = nowMs
    this.#setUpMs = nowMs
  }

  keep(): void {
    this.#kept = structuredClone({ episodes: this.episodes, groups: this.#groups, sent: this.#sent })
    this.messages = []
  }

  restart(setup: AlertSetup, nowMs: number): void {
    const { episodes, groups, sent } = structuredClone(this.#kept)
    Object.assign(this, { episodes, messages: [] })
    this.#groups = groups
    this.#sent = sent
    this.#signals = []
    this.#startedMs = nowMs
    this.#setUp(setup, nowMs)
    this.#passUntil(nowMs)
    this.#applySetup(nowMs)
    this.#plan(nowMs)
  }

  configure(setup: AlertSetup, nowMs: number): void {
    this.#passUntil(nowMs)
    this.#setUp(setup, nowMs)
    this.#applySetup(nowMs)
    this.#plan(nowMs)
  }

  receive(signal: Signal, nowMs: number): void {
    this.#passUntil(nowMs)
    this.#receive(signal, nowMs)
    this.#plan(nowMs)
  }

  forget(watch: AlertWatch, key: string, nowMs: number): void {
    this.#passUntil(nowMs)
    this.#forget(watch, key, nowMs)
    this.#plan(nowMs)
  }

  receiveAll(watch: AlertWatch, signals: readonly Signal[], nowMs: number, unknown: ReadonlySet<string>): void {
    this.#passUntil(nowMs)
    const known = [...this.#signals, ...this.#open().map(({ signal }) => signal)].filter(
      (signal) => signal.watch === watch
    )
    for (const { key } of known)
      if (!unknown.has(key) && !signals.some((signal) => signal.key === key)) this.#forget(watch, key, nowMs)
    for (const signal of signals) this.#receive(signal, nowMs)
    this.#plan(nowMs)
  }

  acknowledge(episodes: readonly PlainEpisode[], nowMs: number): number {
    this.#passUntil(nowMs)
    const answered = this.episodes.filter((one) => episodes.includes(one) && isFiring(one) && !one.isAcknowledged)
    for (const one of answered) one.isAcknowledged = true
    this.#plan(nowMs)
    return answered.length
  }

  unacknowledge(episodes: readonly PlainEpisode[], nowMs: number): number {
    this.#passUntil(nowMs)
    const takenBack = this.episodes.filter((one) => episodes.includes(one) && isFiring(one) && one.isAcknowledged)
    for (const one of takenBack) {
      one.isAcknowledged = false
      if (isDue(this.#escalatesAt(one), nowMs)) this.#escalate(one)
    }
    this.#plan(nowMs)
    return takenBack.length
  }

  advance(nowMs: number): void {
    this.#passUntil(nowMs)
    this.#plan(nowMs)
    this.#tellByUrgency('news', nowMs)
    this.#tellByUrgency('repeat', nowMs)
  }

  /** Rule 9: due messages that a limit holds back, by channel. */
  held(nowMs: number): string[] {
    const isHeld = (group: PlainGroup) => this.#isDue(group, nowMs) && this.#roomAt(group, 'news', nowMs) > nowMs
    return [...this.#setup.channels.keys()].flatMap((channel) => {
      const held = this.#groups.filter((group) => group.channel === channel && isHeld(group))
      const nextMs = Math.min(...held.map((group) => this.#roomAt(group, 'news', nowMs)))
      return held.length === 0 ? [] : [`${channel}: ${held.length} until ${nextMs}`]
    })
  }

  muted(one: PlainEpisode, nowMs: number): 'silenced' | 'node_down' | 'node_cordoned' | null {
    const { nodeId } = one.signal.labels
    const { cordonedNodes, silences } = this.#setup.muting
    if (nodeId !== null && cordonedNodes.has(nodeId)) return 'node_cordoned'
    if (nodeId !== null && ALERT_WATCHES[one.signal.watch].of !== 'node' && this.#isDown(nodeId)) return 'node_down'
    return silences.some((silence) => this.#isSilencedBy(silence, one, nowMs)) ? 'silenced' : null
  }

  /** Rule 10: does all work that was due before now. Does only the part of the work due now that changes episodes. */
  #passUntil(nowMs: number): void {
    for (;;) {
      const stepMs = Math.min(...this.#stepMoments())
      const free = this.#groups.filter((group) => !this.#isLimited(group))
      const looksAt = ({ lookAtMs }: PlainGroup) => (lookAtMs === null ? Infinity : Math.max(lookAtMs, this.#setUpMs))
      const lookMs = Math.min(...free.map(looksAt))
      if (stepMs <= nowMs && stepMs <= lookMs) this.#passMoment(stepMs)
      else if (lookMs < nowMs)
        for (const group of free.filter((group) => looksAt(group) === lookMs)) this.#look(group, lookMs, 'news')
      else return
    }
  }

  #isDue({ lookAtMs }: PlainGroup, atMs: number): boolean {
    return lookAtMs !== null && lookAtMs <= atMs
  }

  #isLimited({ channel }: PlainGroup): boolean {
    return this.#channel(channel)?.messagesPerHour != null
  }

  /** Rule 9: sends messages one after another, while the limit allows it. */
  #tellByUrgency(kind: 'news' | 'repeat', nowMs: number): void {
    for (;;) {
      const due = this.#groups.filter((group) =>
        kind === 'news' ? this.#isDue(group, nowMs) : this.#isToBeRepeated(group, nowMs)
      )
      const [first] = due
        .filter((group) => this.#roomAt(group, kind, nowMs) <= nowMs)
        .sort((one, other) => this.#compare(one, other, kind, nowMs))
      if (first === undefined) return
      this.#look(first, nowMs, kind)
    }
  }

  #roomAt(group: PlainGroup, kind: 'news' | 'repeat', atMs: number): number {
    const perHour = this.#channel(group.channel)?.messagesPerHour ?? null
    const about = kind === 'news' ? this.#news(group, atMs) : this.#repeats(group, atMs)
    if (perHour === null || about.length === 0) return -Infinity
    const most = about.some(isCritical) ? 2 * perHour : perHour
    return this.#roomBelow(group.channel, kind === 'news' ? most : Math.ceil(most / 2))
  }

  #roomBelow(channel: string, most: number): number {
    const times = this.#sent.filter((one) => one.channel === channel).map(({ atMs }) => atMs)
    const nth = times.sort((one, other) => other - one)[most - 1]
    return nth === undefined ? -Infinity : nth + HOUR_MS
  }

  #compare(one: PlainGroup, other: PlainGroup, kind: 'news' | 'repeat', nowMs: number): number {
    const about = [one, other].map((group) =>
      kind === 'news' ? this.#news(group, nowMs) : this.#repeats(group, nowMs)
    )
    const [rank, otherRank] = about.map((some) => (some.some(isCritical) ? 0 : 1))
    const [firstMs, otherMs] =
      kind === 'news'
        ? about.map((news) => Math.min(...news.map((each) => each.firedAtMs!)))
        : [one.lastToldMs!, other.lastToldMs!]
    return rank! - otherRank! || firstMs! - otherMs! || (one.id < other.id ? -1 : 1)
  }

  #stepMoments(): number[] {
    const moments = this.episodes.flatMap((one) => [this.#firesAt(one), this.#escalatesAt(one), believedAt(one)])
    const windows = this.#setup.muting.silences.map((silence) => windowFrom(silence, this.#silencesUntilMs))
    const boundaries = windows.flatMap((window) => (window === null ? [] : [window.fromMs, window.untilMs]))
    const all = [...moments, ...boundaries.filter((atMs) => atMs > this.#silencesUntilMs)]
    return all.filter((atMs) => atMs !== null).map((atMs) => Math.max(atMs, this.#startedMs))
  }

  #passMoment(atMs: number): void {
    this.#silencesUntilMs = Math.max(this.#silencesUntilMs, atMs)
    for (const one of this.episodes) if (isDue(believedAt(one), atMs)) this.#resolve(one, atMs)
    for (const one of this.episodes) if (isDue(this.#firesAt(one), atMs)) this.#fire(one, atMs)
    for (const one of this.episodes) if (isDue(this.#escalatesAt(one), atMs)) this.#escalate(one)
    this.#plan(atMs)
  }

  #firesAt(one: PlainEpisode): number | null {
    const rule = this.#ruleOf(one)
    const isKnown = this.#signals.some((signal) => isSame(signal, one.signal))
    return one.state === 'pending' && isKnown && rule ? one.sinceMs + rule.forSeconds * 1_000 : null
  }

  #escalatesAt(one: PlainEpisode): number | null {
    const { enabled, escalation } = this.#ruleOf(one) ?? {}
    if (!enabled || !escalation || !isFiring(one) || one.isEscalated || one.isAcknowledged) return null
    return one.firedAtMs! + escalation.afterSeconds * 1_000
  }

  #receive(given: Signal, nowMs: number): void {
    const signal = { ...given, sinceMs: Math.min(given.sinceMs, nowMs) }
    this.#signals = [...this.#signals.filter((one) => !isSame(one, signal)), signal]
    this.#judge(signal, nowMs)
  }

  #forget(watch: AlertWatch, key: string, nowMs: number): void {
    this.#signals = this.#signals.filter((one) => !isSame(one, { watch, key }))
    for (const one of this.#open()) if (isSame(one.signal, { watch, key })) this.#end(one, nowMs)
  }

  /** Rules 1 to 3. */
  #judge(signal: Signal, nowMs: number): void {
    for (const one of this.#open()) {
      const rule = this.#ruleOf(one)
      if (isSame(one.signal, signal) && !(rule && isAbout(rule, signal) && isBreach(rule, signal)))
        this.#end(one, nowMs)
    }
    for (const rule of this.#setup.rules) {
      if (!isAbout(rule, signal) || !isBreach(rule, signal)) continue
      let one = this.#open().find((each) => each.rule.id === rule.id && isSame(each.signal, signal))
      if (one === undefined) {
        one = {
          serial: (this.#serial += 1),
          rule,
          signal,
          sinceMs: signal.sinceMs,
          state: 'pending',
          firedAtMs: null,
          endedAtMs: null,
          isAcknowledged: false,
          isEscalated: false,
          groups: []
        }
        this.episodes.push(one)
      }
      one.signal = signal
      if (one.state === 'calming') Object.assign(one, { state: 'firing', endedAtMs: null })
      if (one.state !== 'pending') continue
      one.sinceMs = Math.min(one.sinceMs, nowMs)
      if (ALERT_WATCHES[signal.watch].unit === 'yes_no') one.sinceMs = Math.max(one.sinceMs, signal.sinceMs)
      if (one.sinceMs + rule.forSeconds * 1_000 <= nowMs) this.#fire(one, nowMs)
    }
  }

  #fire(one: PlainEpisode, atMs: number): void {
    Object.assign(one, { state: 'firing', firedAtMs: atMs })
    this.#join(one, this.#ruleOf(one)!.channels)
  }

  #escalate(one: PlainEpisode): void {
    one.isEscalated = true
    this.#join(one, this.#ruleOf(one)!.escalation!.channels)
  }

  #end(one: PlainEpisode, atMs: number): void {
    const lately = this.episodes.filter(
      (each) =>
        each.state === 'resolved' &&
        each.rule.id === one.rule.id &&
        each.signal.key === one.signal.key &&
        each.endedAtMs! > atMs - HOUR_MS
    )
    if (one.state === 'pending') one.state = 'forgotten'
    else if (one.state === 'firing' && lately.length >= 3) Object.assign(one, { state: 'calming', endedAtMs: atMs })
    else if (one.state === 'firing') this.#resolve(one, atMs)
  }

  /** An alert that the channel knows, or that can be sent, stays in the group until it is sent. */
  #resolve(one: PlainEpisode, atMs: number): void {
    Object.assign(one, { state: 'resolved', endedAtMs: atMs })
  }

  #setUp(setup: AlertSetup, nowMs: number): void {
    this.#setup = setup
    this.#silencesUntilMs = nowMs
    this.#setUpMs = nowMs
  }

  #applySetup(nowMs: number): void {
    for (const signal of this.#signals) this.#judge(signal, nowMs)
    for (const one of this.#open()) {
      const rule = this.#ruleOf(one)
      if (!rule?.enabled) {
        if (one.state === 'pending') one.state = 'forgotten'
        else this.#resolve(one, nowMs)
      } else if (isFiring(one)) {
        this.#join(one, rule.channels)
        if (isDue(this.#escalatesAt(one), nowMs)) this.#escalate(one)
        if (one.isEscalated) this.#join(one, rule.escalation?.channels ?? [])
      }
    }
  }

  /** Rule 4. */
  #join(one: PlainEpisode, channels: readonly string[]): void {
    for (const channel of channels) {
      if (this.#channel(channel) === undefined || one.groups.some((each) => each.channel === channel)) continue
      const { id, groupBy } = this.#ruleOf(one)!
      const { project, nodeId } = one.signal.labels
      const part = { rule: '', project: project ?? '', node: nodeId ?? '', each: one.signal.key }[groupBy]
      const group = `${channel} ${id} ${groupBy} ${part}`
      one.groups.push({ channel, group, isTold: false })
      if (!this.#groups.some((each) => each.id === group))
        this.#groups.push({ id: group, channel, ruleId: id, lookAtMs: null, lastToldMs: null })
    }
  }

  /** Rules 6 and 7, after each step. */
  #plan(atMs: number): void {
    for (const group of this.#groups) {
      this.#dismiss(group, atMs)
      if (this.#channel(group.channel) === undefined) group.lookAtMs = null
      for (const one of this.#news(group, atMs)) {
        const plannedMs = this.#heldUntil(group, one, atMs) ?? atMs + this.#gatherMs(group)
        group.lookAtMs = Math.min(group.lookAtMs ?? Infinity, plannedMs)
      }
    }
    this.#groups = this.#groups.filter((group) => this.#members(group).length > 0)
  }

  /** Drops alerts that started and ended and will not be sent. */
  #dismiss(group: PlainGroup, atMs: number): void {
    const isOff = this.#channel(group.channel) === undefined
    for (const one of this.#members(group)) {
      const isUnknownAndMuted = !isTold(one, group) && this.muted(one, atMs) !== null
      if (one.state === 'resolved' && (isOff || isUnknownAndMuted)) leave(one, group)
    }
  }

  #news(group: PlainGroup, atMs: number): PlainEpisode[] {
    if (this.#channel(group.channel) === undefined) return []
    return this.#members(group).filter((one) =>
      isTold(one, group) ? one.state === 'resolved' : this.muted(one, atMs) === null
    )
  }

  /** Rule 8. */
  #repeats(group: PlainGroup, atMs: number): PlainEpisode[] {
    const repeatSeconds = this.#setup.rules.find(({ id }) => id === group.ruleId)?.repeatSeconds ?? null
    if (repeatSeconds === null || group.lastToldMs === null || atMs < group.lastToldMs + repeatSeconds * 1_000)
      return []
    return this.#members(group).filter(
      (one) =>
        isFiring(one) &&
        isTold(one, group) &&
        !one.isAcknowledged &&
        this.muted(one, atMs) === null &&
        this.#heldUntil(group, one, atMs) === null
    )
  }

  #isToBeRepeated(group: PlainGroup, atMs: number): boolean {
    return this.#channel(group.channel) !== undefined && this.#repeats(group, atMs).length > 0
  }

  #look(group: PlainGroup, atMs: number, what: 'news' | 'repeat'): void {
    group.lookAtMs = null
    this.#dismiss(group, atMs)
    const news = this.#news(group, atMs).filter((one) => this.#heldUntil(group, one, atMs) === null)
    const repeats = this.#channel(group.channel) === undefined ? [] : this.#repeats(group, atMs)
    if (news.length > 0 || (what === 'repeat' && repeats.length > 0)) {
      const known = this.#members(group).filter((one) => isFiring(one) && isTold(one, group))
      this.#sent.push({ channel: group.channel, atMs })
      this.messages.push({
        channel: group.channel,
        group: group.id,
        kind: news.length > 0 ? 'news' : 'repeat',
        atMs,
        firing: [...news.filter(isFiring), ...repeats].map(({ serial }) => serial),
        resolved: news.filter((one) => !isFiring(one)).map(({ serial }) => serial),
        stillFiring: known.length - repeats.length,
        limit: this.#limitAfter(group.channel, atMs)
      })
      group.lastToldMs = atMs
      for (const one of news) {
        if (isFiring(one)) one.groups.find((each) => each.group === group.id)!.isTold = true
        else leave(one, group)
      }
    }
    this.#plan(atMs)
  }

  #limitAfter(channel: string, atMs: number): PlainMessage['limit'] {
    const perHour = this.#channel(channel)!.messagesPerHour
    if (perHour === null) return null
    const [all, others] = [this.#roomBelow(channel, 2 * perHour), this.#roomBelow(channel, perHour)]
    return others <= atMs ? null : { heldUntilMs: all > atMs ? all : others, all: all > atMs }
  }

  #heldUntil({ channel }: PlainGroup, { rule }: PlainEpisode, atMs: number): number | null {
    return rule.severity === 'critical' ? null : quietUntilMs(this.#channel(channel)?.quiet ?? null, atMs)
  }

  #isSilencedBy(silence: AlertSilence, one: PlainEpisode, nowMs: number): boolean {
    const window = windowFrom(silence, nowMs)
    const isNow = window !== null && window.fromMs <= nowMs && nowMs < window.untilMs
    return isNow && (silence.ruleId === null || silence.ruleId === one.rule.id) && isInScope(silence, one.signal)
  }

  #isDown(nodeId: NodeId): boolean {
    return this.episodes.some(
      (one) =>
        isFiring(one) &&
        one.signal.watch === 'node_down' &&
        one.signal.labels.nodeId === nodeId &&
        one.groups.some(({ channel }) => this.#channel(channel) !== undefined)
    )
  }

  #open(): PlainEpisode[] {
    return this.episodes.filter((one) => one.state === 'pending' || isFiring(one))
  }

  #members(group: PlainGroup): PlainEpisode[] {
    return this.episodes.filter((one) => one.groups.some((each) => each.group === group.id))
  }

  #gatherMs({ ruleId }: PlainGroup): number {
    return (this.#setup.rules.find(({ id }) => id === ruleId)?.gatherSeconds ?? 0) * 1_000
  }

  #ruleOf({ rule }: PlainEpisode): AlertRule | undefined {
    return this.#setup.rules.find(({ id }) => id === rule.id)
  }

  #channel(id: string) {
    return [...this.#setup.channels].find(([each]) => each === id)?.[1]
  }
}

const isCritical = ({ rule }: PlainEpisode): boolean => rule.severity === 'critical'

const isFiring = ({ state }: PlainEpisode): boolean => state === 'firing' || state === 'calming'

const believedAt = ({ state, endedAtMs }: PlainEpisode): number | null =>
  state === 'calming' ? endedAtMs! + 10 * MINUTE_MS : null

const isDue = (dueMs: number | null, atMs: number): boolean => dueMs !== null && dueMs <= atMs

const isTold = (one: PlainEpisode, group: PlainGroup): boolean =>
  one.groups.some((each) => each.group === group.id && each.isTold)

function leave(one: PlainEpisode, group: PlainGroup): void {
  one.groups = one.groups.filter((each) => each.group !== group.id)
}

const isSame = (one: Pick<Signal, 'watch' | 'key'>, other: Pick<Signal, 'watch' | 'key'>): boolean =>
  one.watch === other.watch && one.key === other.key

const isBreach = ({ comparison, threshold }: AlertRule, { value }: Signal): boolean =>
  comparison === 'at_least' ? value >= threshold : value <= threshold

const isAbout = (rule: AlertRule, signal: Signal): boolean =>
  rule.enabled && rule.watch === signal.watch && isInScope(rule, signal)

function isInScope(scope: AlertRule | AlertSilence, { labels }: Signal): boolean {
  const names = ['project', 'spider', 'scheduleId', 'nodeId'] as const
  const isEachSo = names.every((name) => scope[name] === null || scope[name] === labels[name])
  return isEachSo && (scope.nodeTag === null || labels.nodeTags.includes(scope.nodeTag))
}
