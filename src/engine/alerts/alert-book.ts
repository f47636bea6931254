import type {
  AlertChannelId,
  AlertId,
  AlertRule,
  AlertRuleId,
  NodeId,
  QuietHours
} from '../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch, isBreach } from '../../shared/alert-watches.ts'
import { Heap } from '../runtime/heap.ts'
import {
  type AlertMessage,
  CALM_MS,
  type Episode,
  FLAP_WINDOW_MS,
  type Group,
  groupIdOf,
  isFiring,
  isFlapping
} from './episodes.ts'
import { areSameLabels, type Fact, RuleIndex } from './fact.ts'
import { mutedBecause, type Muting, nextSilenceMs, quietUntilMs, waitsForQuietHours } from './muting.ts'

export interface AlertSetup {
  rules: readonly AlertRule[]
  /** Those that are turned on. */
  channels: ReadonlyMap<AlertChannelId, { quiet: QuietHours | null }>
  muting: Omit<Muting, 'downNodes'>
}

/** What is kept over a restart. */
export interface AlertMemory {
  /** Those that are not settled, and those that ended within the last hour. */
  episodes: readonly Episode[]
  groups: readonly Group[]
}

/** What has changed since it was last taken. */
export interface AlertChanges {
  messages: AlertMessage[]
  episodes: Episode[]
  /** Those that were never more than pending. */
  forgotten: AlertId[]
  groups: Group[]
  endedGroups: string[]
}

interface Due {
  atMs: number
  /** At the same moment, all that happens to alerts goes before anybody is told. */
  rank: 0 | 1
  act: (atMs: number) => void
}

/**
 * The life of alerts, without clock, store or network: facts, settings and moments go in, messages and what must be
 * kept come out. README.md has the rules; testing/plain-model.ts says the same without any index.
 *
 * Whatever is due is done in the order of time, as of its own moment: how often it is called makes no difference.
 */
export class AlertBook {
  readonly #newId: () => AlertId
  #setup: AlertSetup = { rules: [], channels: new Map(), muting: { silences: [], cordonedNodes: new Set() } }
  #rules = new Map<AlertRuleId, AlertRule>()
  #index = new RuleIndex([])
  readonly #facts = new Map<string, Fact>()
  /** Pending and firing ones by what they are of, then by rule. */
  readonly #open = new Map<string, Map<AlertRuleId, Episode>>()
  readonly #byId = new Map<AlertId, Episode>()
  readonly #ends = new Map<string, number[]>()
  readonly #groups = new Map<string, Group & { members: Set<Episode> }>()
  readonly #downNodes = new Map<NodeId, number>()
  readonly #due = new Heap<Due>([], (one, other) =>
    one.atMs === other.atMs ? one.rank < other.rank : one.atMs < other.atMs
  )
  #changed = new Set<Episode>()
  #forgotten: AlertId[] = []
  #changedGroups = new Set<Group>()
  #endedGroups: string[] = []
  #messages: AlertMessage[] = []
  #setupNumber = 0

  /** `newId`: of a new alert, random. */
  constructor(newId: () => AlertId) {
    this.#newId = newId
  }

  /** Goes on where another one stopped. Nothing ends before its facts have been received. */
  restore({ episodes, groups }: AlertMemory, setup: AlertSetup, nowMs: number): void {
    this.#take(setup, nowMs)
    for (const group of groups) this.#groups.set(group.id, { ...group, members: new Set() })
    for (const one of episodes) {
      if (one.state === 'resolved') this.#keepEnd(one, one.endedAtMs!)
      if (one.state === 'resolved' && Object.keys(one.channels).length === 0) continue
      this.#byId.set(one.id, one)
      if (one.state !== 'resolved') this.#openOf(one).set(one.ruleId, one)
      if (isFiring(one)) this.#countDown(one, 1)
      for (const { groupId } of Object.values(one.channels)) this.#groups.get(groupId)?.members.add(one)
      if (one.state === 'calming') this.#at(one.endedAtMs! + CALM_MS, 0, (atMs) => this.#believeEnd(one, atMs))
      this.#planEscalation(one)
    }
    for (const group of this.#groups.values()) if (group.flushAtMs !== null) this.#planFlush(group, group.flushAtMs)
  }

  /** Rules, channels, silences or cordoned nodes have changed. */
  configure(setup: AlertSetup, nowMs: number): void {
    this.#run(nowMs)
    this.#take(setup, nowMs)
    for (const fact of this.#facts.values()) this.#judge(fact, nowMs)
    for (const open of this.#open.values()) {
      for (const one of open.values()) {
        const rule = this.#rules.get(one.ruleId)
        if (rule?.enabled !== true) this.#end(one, nowMs, true)
        else if (isFiring(one)) this.#join(one, rule, rule.channels, nowMs)
      }
    }
    this.#reconsider(nowMs)
  }

  receive(fact: Fact, nowMs: number): void {
    this.#run(nowMs)
    this.#facts.set(`${fact.watch} ${fact.key}`, fact)
    this.#judge(fact, nowMs)
  }

  /** It is not there any more. */
  forget(watch: AlertWatch, key: string, nowMs: number): void {
    this.#run(nowMs)
    this.#facts.delete(`${watch} ${key}`)
    for (const one of this.#open.get(`${watch} ${key}`)?.values() ?? []) this.#end(one, nowMs)
  }

  /** All there is of this watch: what is missing is not there any more, but for what is `unknown` at the moment. */
  receiveAll(watch: AlertWatch, facts: readonly Fact[], nowMs: number, unknown: ReadonlySet<string> = new Set()): void {
    const keys = new Set(facts.map(({ key }) => key))
    for (const place of new Set([...this.#facts.keys(), ...this.#open.keys()])) {
      const key = place.slice(watch.length + 1)
      if (place.startsWith(`${watch} `) && !keys.has(key) && !unknown.has(key)) this.forget(watch, key, nowMs)
    }
    for (const fact of facts) this.receive(fact, nowMs)
  }

  /** Returns how many of them were firing, and not acknowledged before. */
  acknowledge(ids: readonly AlertId[], by: string, nowMs: number): number {
    this.#run(nowMs)
    let count = 0
    for (const id of ids) {
      const one = this.#byId.get(id)
      if (one === undefined || !isFiring(one) || one.acknowledged !== null) continue
      one.acknowledged = { by, atMs: nowMs }
      this.#changed.add(one)
      count += 1
    }
    return count
  }

  /** Does what is due. */
  advance(nowMs: number): void {
    this.#run(nowMs)
  }

  /** When something is due next; null: nothing is. */
  nextAtMs(): number | null {
    return this.#due.first()?.atMs ?? null
  }

  take(): AlertChanges {
    const changes = {
      messages: this.#messages,
      episodes: [...this.#changed],
      forgotten: this.#forgotten,
      groups: [...this.#changedGroups],
      endedGroups: this.#endedGroups.filter((id) => !this.#groups.has(id))
    }
    this.#messages = []
    this.#changed = new Set()
    this.#forgotten = []
    this.#changedGroups = new Set()
    this.#endedGroups = []
    return changes
  }

  /** Pending and firing ones, in no order. */
  *open(): Generator<Episode> {
    for (const open of this.#open.values()) yield* open.values()
  }

  get(id: AlertId): Episode | undefined {
    return this.#byId.get(id)
  }

  mutedBecause(one: Episode, nowMs: number): ReturnType<typeof mutedBecause> {
    return mutedBecause(one, { ...this.#setup.muting, downNodes: this.#downNodes }, nowMs)
  }

  isFlapping(one: Episode, nowMs: number): boolean {
    return one.state === 'calming' || isFlapping(this.#endsOf(one), nowMs)
  }

  #take(setup: AlertSetup, nowMs: number): void {
    this.#setup = setup
    this.#rules = new Map(setup.rules.map((rule) => [rule.id, rule]))
    this.#index = new RuleIndex(setup.rules)
    this.#setupNumber += 1
    this.#planSilences(nowMs)
  }

  #planSilences(nowMs: number): void {
    const nextMs = nextSilenceMs(this.#setup.muting.silences, nowMs)
    const number = this.#setupNumber
    if (nextMs === null) return
    this.#at(nextMs, 0, (atMs) => {
      if (number !== this.#setupNumber) return
      this.#reconsider(atMs)
      this.#planSilences(atMs)
    })
  }

  #run(nowMs: number): void {
    for (let next = this.#due.first(); next !== undefined && next.atMs <= nowMs; next = this.#due.first()) {
      this.#due.removeFirst()
      next.act(next.atMs)
    }
  }

  #at(atMs: number, rank: Due['rank'], act: Due['act']): void {
    this.#due.push({ atMs, rank, act })
  }

  #judge(fact: Fact, nowMs: number): void {
    const place = `${fact.watch} ${fact.key}`
    const open = this.#open.get(place)
    const rules = this.#index.of(fact)
    for (const one of open?.values() ?? []) {
      if (!rules.some(({ id }) => id === one.ruleId)) this.#end(one, nowMs)
    }
    for (const rule of rules) {
      const one = open?.get(rule.id)
      if (!isBreach(rule, fact.value)) {
        if (one !== undefined) this.#end(one, nowMs)
      } else if (one === undefined) this.#begin(rule, fact, nowMs)
      else this.#goOn(one, rule, fact, nowMs)
    }
  }

  #begin(rule: AlertRule, fact: Fact, nowMs: number): void {
    const { id: ruleId, name: ruleName, severity, owner } = rule
    const { watch, key, value, subject, text, labels } = fact
    const one: Episode = {
      ...{ id: this.#newId(), ruleId, ruleName, severity, owner, watch, key, value, subject, text, labels },
      ...{ state: 'pending', sinceMs: Math.min(fact.sinceMs, nowMs), firedAtMs: null, endedAtMs: null },
      ...{ resolvedAtMs: null, acknowledged: null, isEscalated: false, channels: {} }
    }
    this.#byId.set(one.id, one)
    this.#openOf(one).set(ruleId, one)
    this.#changed.add(one)
    this.#planFiring(one, rule, nowMs)
  }

  #goOn(one: Episode, rule: AlertRule, { value, subject, text, labels, sinceMs, watch }: Fact, nowMs: number): void {
    if (one.value !== value || one.text !== text || !areSameLabels(one.labels, labels) || one.subject !== subject) {
      Object.assign(one, { value, text, labels, subject })
      this.#changed.add(one)
    }
    if (one.state === 'calming') {
      Object.assign(one, { state: 'firing', endedAtMs: null })
      this.#changed.add(one)
    }
    if (one.state !== 'pending') return
    // Between two facts it may have been otherwise.
    if (ALERT_WATCHES[watch].unit === 'yes_no') one.sinceMs = Math.min(sinceMs, nowMs)
    this.#planFiring(one, rule, nowMs)
  }

  #planFiring(one: Episode, rule: AlertRule, nowMs: number): void {
    const dueMs = one.sinceMs + rule.forSeconds * 1_000
    if (dueMs <= nowMs) return this.#fire(one, rule, nowMs)
    this.#at(dueMs, 0, (atMs) => {
      const now = this.#rules.get(rule.id)
      if (one.state === 'pending' && now === rule && one.sinceMs + rule.forSeconds * 1_000 === atMs)
        this.#fire(one, rule, atMs)
    })
  }

  #fire(one: Episode, rule: AlertRule, atMs: number): void {
    Object.assign(one, { state: 'firing', firedAtMs: atMs })
    this.#changed.add(one)
    this.#countDown(one, 1)
    this.#join(one, rule, rule.channels, atMs)
    this.#planEscalation(one)
  }

  #planEscalation(one: Episode): void {
    const { escalation } = this.#rules.get(one.ruleId) ?? { escalation: null }
    if (escalation === null || one.firedAtMs === null || one.isEscalated || !isFiring(one)) return
    this.#at(one.firedAtMs + escalation.afterSeconds * 1_000, 0, (atMs) => {
      const rule = this.#rules.get(one.ruleId)
      if (!isFiring(one) || one.acknowledged !== null || !rule?.escalation) return
      one.isEscalated = true
      this.#changed.add(one)
      this.#join(one, rule, rule.escalation.channels, atMs)
    })
  }

  #end(one: Episode, nowMs: number, isCertain = false): void {
    if (one.state === 'pending') {
      this.#openOf(one).delete(one.ruleId)
      this.#dropPlaceOf(one)
      this.#byId.delete(one.id)
      this.#changed.delete(one)
      this.#forgotten.push(one.id)
    } else if (one.state === 'firing' && !isCertain && isFlapping(this.#endsOf(one), nowMs)) {
      Object.assign(one, { state: 'calming', endedAtMs: nowMs })
      this.#changed.add(one)
      this.#at(nowMs + CALM_MS, 0, (atMs) => this.#believeEnd(one, atMs))
    } else if (one.state === 'firing' || isCertain) this.#resolve(one, nowMs)
  }

  #believeEnd(one: Episode, atMs: number): void {
    if (one.state === 'calming' && one.endedAtMs! + CALM_MS === atMs) this.#resolve(one, atMs)
  }

  #resolve(one: Episode, atMs: number): void {
    Object.assign(one, { state: 'resolved', endedAtMs: atMs, resolvedAtMs: atMs })
    this.#changed.add(one)
    this.#openOf(one).delete(one.ruleId)
    this.#dropPlaceOf(one)
    this.#keepEnd(one, atMs)
    this.#countDown(one, -1)
    if (Object.keys(one.channels).length === 0) this.#byId.delete(one.id)
    for (const { groupId } of Object.values(one.channels)) this.#plan(this.#groups.get(groupId)!, atMs)
    // What is of the node may be told again.
    if (one.watch === 'node_down') this.#reconsider(atMs)
  }

  /** Puts it among those that these channels are told of. */
  #join(one: Episode, rule: AlertRule, channels: readonly AlertChannelId[], atMs: number): void {
    for (const channelId of channels) {
      if (one.channels[channelId] !== undefined || !this.#setup.channels.has(channelId)) continue
      const group = this.#groupOf(channelId, rule, one)
      one.channels[channelId] = { groupId: group.id, isTold: false }
      this.#changed.add(one)
      group.members.add(one)
      this.#plan(group, atMs)
    }
  }

  /** What is muted or quiet may be told now, or the other way round. */
  #reconsider(atMs: number): void {
    for (const group of this.#groups.values()) this.#plan(group, atMs)
  }

  /** Decides when the group is looked at next, because there may be something to tell. */
  #plan(group: Group & { members: Set<Episode> }, atMs: number): void {
    const rule = this.#rules.get(group.ruleId)
    const { news, told } = this.#look(group, atMs)
    if (news.length > 0) this.#planFlush(group, atMs + (rule?.gatherSeconds ?? 0) * 1_000)
    if (rule?.repeatSeconds != null && group.lastToldAtMs !== null && told.some((one) => this.#isRepeated(one, atMs)))
      this.#planFlush(group, Math.max(atMs, group.lastToldAtMs + rule.repeatSeconds * 1_000))
  }

  #planFlush(group: Group, atMs: number): void {
    if (group.flushAtMs !== null && group.flushAtMs < atMs) return
    if (group.flushAtMs !== atMs) this.#changedGroups.add(group)
    group.flushAtMs = atMs
    this.#at(atMs, 1, () => {
      if (group.flushAtMs === atMs && this.#groups.get(group.id) === group)
        this.#flush(this.#groups.get(group.id)!, atMs)
    })
  }

  #isRepeated(one: Episode, atMs: number): boolean {
    return one.acknowledged === null && this.mutedBecause(one, atMs) === null
  }

  /** `news`: what the channel does not know yet and may be told. `told`: what it knows to be firing, and still is. */
  #look({ channelId, members }: { channelId: AlertChannelId; members: Set<Episode> }, atMs: number) {
    const news: Episode[] = []
    const told: Episode[] = []
    const over: Episode[] = []
    for (const one of members) {
      const knows = one.channels[channelId]!.isTold
      if (knows && isFiring(one)) told.push(one)
      else if (knows || this.mutedBecause(one, atMs) === null) news.push(one)
      else if (!isFiring(one)) over.push(one)
    }
    return { news, told, over }
  }

  #flush(group: Group & { members: Set<Episode> }, atMs: number): void {
    group.flushAtMs = null
    this.#changedGroups.add(group)
    const { channelId, ruleId } = group
    const rule = this.#rules.get(ruleId)
    const channel = this.#setup.channels.get(channelId)
    const { news, told, over } = this.#look(group, atMs)
    for (const one of over) this.#leave(one, group)
    if (channel === undefined) {
      for (const one of news) if (!isFiring(one)) this.#leave(one, group)
      return this.#closeIfEmpty(group)
    }
    const quietMs = quietUntilMs(channel.quiet, atMs)
    const isHeld = (one: Episode) => quietMs !== null && waitsForQuietHours(one.severity)
    const firing = news.filter((one) => isFiring(one) && !isHeld(one))
    const resolved = news.filter((one) => !isFiring(one) && !isHeld(one))
    const isDue =
      rule?.repeatSeconds != null &&
      group.lastToldAtMs !== null &&
      atMs >= group.lastToldAtMs + rule.repeatSeconds * 1_000
    const repeated = isDue ? told.filter((one) => this.#isRepeated(one, atMs) && !isHeld(one)) : []
    if (firing.length + resolved.length + repeated.length > 0) {
      const kind = firing.length + resolved.length > 0 ? 'news' : 'repeat'
      this.#messages.push({
        ...{ channelId, groupId: group.id, ruleId, atMs, kind, resolved },
        firing: [...firing, ...repeated],
        stillFiring: told.length - repeated.length
      })
      group.lastToldAtMs = atMs
      for (const one of firing) {
        one.channels[channelId]!.isTold = true
        this.#changed.add(one)
      }
      for (const one of resolved) this.#leave(one, group)
    }
    if (quietMs !== null && (news.some(isHeld) || told.some(isHeld))) this.#planFlush(group, quietMs)
    if (rule?.repeatSeconds != null && group.lastToldAtMs !== null) {
      const again = [...group.members].filter((one) => one.channels[channelId]!.isTold && isFiring(one))
      if (again.some((one) => this.#isRepeated(one, atMs) && !isHeld(one)))
        this.#planFlush(group, Math.max(atMs + 1, group.lastToldAtMs + rule.repeatSeconds * 1_000))
    }
    this.#closeIfEmpty(group)
  }

  #leave(one: Episode, group: Group & { members: Set<Episode> }): void {
    group.members.delete(one)
    delete one.channels[group.channelId]
    this.#changed.add(one)
    if (one.state === 'resolved' && Object.keys(one.channels).length === 0) this.#byId.delete(one.id)
  }

  #closeIfEmpty(group: Group & { members: Set<Episode> }): void {
    if (group.members.size > 0) return
    this.#groups.delete(group.id)
    this.#changedGroups.delete(group)
    this.#endedGroups.push(group.id)
  }

  #groupOf(channelId: AlertChannelId, rule: AlertRule, one: Episode): Group & { members: Set<Episode> } {
    const id = groupIdOf(channelId, rule, one)
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { id, channelId, ruleId: one.ruleId, lastToldAtMs: null, flushAtMs: null, members: new Set() }
      this.#groups.set(id, group)
    }
    return group
  }

  #openOf({ watch, key }: Episode): Map<AlertRuleId, Episode> {
    const place = `${watch} ${key}`
    let open = this.#open.get(place)
    if (open === undefined) this.#open.set(place, (open = new Map()))
    return open
  }

  #dropPlaceOf({ watch, key }: Episode): void {
    if (this.#open.get(`${watch} ${key}`)?.size === 0) this.#open.delete(`${watch} ${key}`)
  }

  #endsOf({ ruleId, key }: Episode): readonly number[] {
    return this.#ends.get(`${ruleId} ${key}`) ?? []
  }

  #keepEnd(one: Episode, atMs: number): void {
    const place = `${one.ruleId} ${one.key}`
    this.#ends.set(place, [...this.#endsOf(one), atMs])
    this.#at(atMs + FLAP_WINDOW_MS, 0, () => {
      const left = this.#endsOf(one).slice(1)
      if (left.length > 0) this.#ends.set(place, left)
      else this.#ends.delete(place)
    })
  }

  /** An alert of a node that is down mutes what else is of that node. */
  #countDown({ watch, labels: { nodeId } }: Episode, by: 1 | -1): void {
    if (watch !== 'node_down' || nodeId === null) return
    const count = (this.#downNodes.get(nodeId) ?? 0) + by
    if (count > 0) this.#downNodes.set(nodeId, count)
    else this.#downNodes.delete(nodeId)
  }
}
