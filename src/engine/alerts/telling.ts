import type { AlertChannelId, AlertRule, AlertRuleId, QuietHours } from '../../shared/contract/index.ts'
import { Heap } from '../runtime/heap.ts'
import { type AlertMessage, copyOf, type Episode, type Group, groupIdOf, isFiring } from './episodes.ts'
import { quietUntilMs, waitsForQuietHours } from './muting.ts'

export interface AlertChannelSetup {
  quiet: QuietHours | null
}

interface TellingParts {
  ruleOf: (id: AlertRuleId) => AlertRule | undefined
  /** Of one that is turned on. */
  channelOf: (id: AlertChannelId) => AlertChannelSetup | undefined
  isMuted: (one: Episode, atMs: number) => boolean
  /** Call when it is to be told to others, or is known to others, than before. */
  onChange: (one: Episode) => void
}

interface LiveGroup extends Group {
  members: Set<Episode>
  /** When its known ones are told again if nothing changes; null: never. */
  repeatAtMs: number | null
}

interface Look {
  atMs: number
  group: LiveGroup
}

const earliest = (): Heap<Look> => new Heap<Look>([], (one, other) => one.atMs < other.atMs)

/** The groups of alerts: who is told of what in one message, and when (README.md, rules 4 to 8). */
export class Telling {
  readonly #parts: TellingParts
  readonly #groups = new Map<string, LiveGroup>()
  readonly #touched = new Set<LiveGroup>()
  /** Both may hold moments that have been given up: what the group says decides. */
  readonly #looks = earliest()
  readonly #repeats = earliest()
  #changed = new Set<LiveGroup>()
  #ended = new Set<string>()
  #messages: AlertMessage[] = []

  constructor(parts: TellingParts) {
    this.#parts = parts
  }

  restore(groups: readonly Group[], episodes: Iterable<Episode>, nowMs: number): void {
    for (const group of groups) {
      const live = { ...group, flushAtMs: null, members: new Set<Episode>(), repeatAtMs: null }
      this.#groups.set(group.id, live)
      if (group.flushAtMs !== null) this.#planLook(live, Math.max(nowMs, group.flushAtMs))
    }
    for (const one of episodes) {
      for (const channelId of Object.keys(one.channels) as AlertChannelId[])
        this.#groupWith(one.channels[channelId]!.groupId, channelId, one).members.add(one)
    }
    this.touchAll()
  }

  /** Puts it among those that these channels are told of. */
  join(one: Episode, rule: AlertRule, channels: readonly AlertChannelId[]): void {
    for (const channelId of channels) {
      if (one.channels[channelId] !== undefined || this.#parts.channelOf(channelId) === undefined) continue
      const group = this.#groupWith(groupIdOf(channelId, rule, one), channelId, one)
      one.channels[channelId] = { groupId: group.id, isTold: false }
      group.members.add(one)
      this.#touched.add(group)
      this.#parts.onChange(one)
    }
  }

  /** Something about it has changed that may be told. */
  touch(one: Episode): void {
    for (const { groupId } of Object.values(one.channels)) this.#touched.add(this.#groups.get(groupId)!)
  }

  /** Anything may be muted, held or told otherwise than before. */
  touchAll(): void {
    for (const group of this.#groups.values()) this.#touched.add(group)
  }

  /** Call after all that happens at one moment, or because of one call: decides when groups are looked at. */
  plan(atMs: number): void {
    for (const group of this.#touched) if (this.#isCurrent(group)) this.#plan(group, atMs)
    this.#touched.clear()
  }

  nextLookMs(): number {
    for (let next = this.#looks.first(); next !== undefined; next = this.#looks.first()) {
      if (this.#isCurrent(next.group) && next.group.flushAtMs === next.atMs) return next.atMs
      this.#looks.removeFirst()
    }
    return Number.POSITIVE_INFINITY
  }

  nextRepeatMs(): number {
    for (let next = this.#repeats.first(); next !== undefined; next = this.#repeats.first()) {
      if (this.#isCurrent(next.group) && next.group.repeatAtMs === next.atMs) return next.atMs
      this.#repeats.removeFirst()
    }
    return Number.POSITIVE_INFINITY
  }

  /** Looks at all groups that are due at this moment, as of it. */
  lookAt(atMs: number): void {
    while (this.nextLookMs() === atMs) this.#look(this.#looks.removeFirst()!.group, atMs)
  }

  /** Repeats what has been due until now. What was missed in a long sleep is told once, as of now. */
  repeat(nowMs: number): void {
    while (this.nextRepeatMs() <= nowMs) {
      const { group } = this.#repeats.removeFirst()!
      // All of it may have been acknowledged, muted or held since then.
      this.#plan(group, nowMs)
      if (this.#isCurrent(group) && group.repeatAtMs !== null && group.repeatAtMs <= nowMs) this.#look(group, nowMs)
    }
  }

  take() {
    const taken = {
      messages: this.#messages,
      groups: [...this.#changed].map(({ members: _members, repeatAtMs: _repeat, ...group }) => group),
      endedGroups: [...this.#ended]
    }
    this.#messages = []
    this.#changed = new Set()
    this.#ended = new Set()
    return taken
  }

  #plan(group: LiveGroup, atMs: number): void {
    const channel = this.#parts.channelOf(group.channelId)
    const rule = this.#parts.ruleOf(group.ruleId)
    const { news, told } = this.#sort(group, channel, atMs)
    if (group.members.size === 0) return this.#close(group)
    if (channel === undefined) {
      this.#planLook(group, null)
      group.repeatAtMs = null
      return
    }
    const quietMs = quietUntilMs(channel.quiet, atMs)
    const isHeld = (one: Episode) => quietMs !== null && waitsForQuietHours(one.severity)
    const moments = news.map((one) => (isHeld(one) ? quietMs! : atMs + (rule?.gatherSeconds ?? 0) * 1_000))
    if (group.flushAtMs !== null) moments.push(group.flushAtMs)
    this.#planLook(group, moments.length === 0 ? null : Math.min(...moments))
    this.#planRepeat(group, rule, told, atMs, (one) => (isHeld(one) ? quietMs! : atMs))
  }

  #planLook(group: LiveGroup, atMs: number | null): void {
    if (group.flushAtMs === atMs) return
    group.flushAtMs = atMs
    this.#changed.add(group)
    if (atMs !== null) this.#looks.push({ atMs, group })
  }

  #planRepeat(
    group: LiveGroup,
    rule: AlertRule | undefined,
    told: readonly Episode[],
    atMs: number,
    freeAtMs: (one: Episode) => number
  ): void {
    const dueMs = dueOf(group, rule)
    const moments = told.filter((one) => this.#isRepeated(one, atMs)).map((one) => Math.max(dueMs, freeAtMs(one)))
    const nextMs = Math.min(...moments)
    const before = group.repeatAtMs
    group.repeatAtMs = Number.isFinite(nextMs) ? nextMs : null
    if (group.repeatAtMs !== null && group.repeatAtMs !== before) this.#repeats.push({ atMs: nextMs, group })
  }

  #isRepeated(one: Episode, atMs: number): boolean {
    return one.acknowledged === null && !this.#parts.isMuted(one, atMs)
  }

  /**
   * `news`: what the channel does not know yet and may be told. `told`: what it knows to be firing, and still is. What
   * nobody will be told of leaves the group.
   */
  #sort(group: LiveGroup, channel: AlertChannelSetup | undefined, atMs: number) {
    const news: Episode[] = []
    const told: Episode[] = []
    for (const one of group.members) {
      const { isTold } = one.channels[group.channelId]!
      const isOver = !isFiring(one)
      if (isOver && channel === undefined) this.#leave(one, group)
      else if (isTold && !isOver) told.push(one)
      else if (isTold || !this.#parts.isMuted(one, atMs)) news.push(one)
      else if (isOver) this.#leave(one, group)
    }
    return { news, told }
  }

  #look(group: LiveGroup, atMs: number): void {
    this.#planLook(group, null)
    group.repeatAtMs = null
    const channel = this.#parts.channelOf(group.channelId)
    if (channel !== undefined) this.#tell(group, channel, atMs)
    this.#plan(group, atMs)
  }

  #tell(group: LiveGroup, channel: AlertChannelSetup, atMs: number): void {
    const { id: groupId, channelId, ruleId } = group
    const { news, told } = this.#sort(group, channel, atMs)
    const isQuiet = quietUntilMs(channel.quiet, atMs) !== null
    const isHeld = (one: Episode) => isQuiet && waitsForQuietHours(one.severity)
    const firing = news.filter((one) => isFiring(one) && !isHeld(one))
    const resolved = news.filter((one) => !isFiring(one) && !isHeld(one))
    const isDue = atMs >= dueOf(group, this.#parts.ruleOf(ruleId))
    const repeated = isDue ? told.filter((one) => this.#isRepeated(one, atMs) && !isHeld(one)) : []
    if (firing.length + resolved.length + repeated.length === 0) return
    this.#messages.push({
      ...{ channelId, groupId, ruleId, atMs },
      kind: firing.length + resolved.length > 0 ? 'news' : 'repeat',
      firing: [...firing, ...repeated].map(copyOf),
      resolved: resolved.map(copyOf),
      stillFiring: told.length - repeated.length
    })
    group.lastToldAtMs = atMs
    this.#changed.add(group)
    for (const one of firing) {
      one.channels[channelId] = { groupId, isTold: true }
      this.#parts.onChange(one)
    }
    for (const one of resolved) this.#leave(one, group)
  }

  #leave(one: Episode, group: LiveGroup): void {
    group.members.delete(one)
    delete one.channels[group.channelId]
    this.#parts.onChange(one)
  }

  #close(group: LiveGroup): void {
    this.#groups.delete(group.id)
    this.#changed.delete(group)
    this.#ended.add(group.id)
  }

  #isCurrent(group: LiveGroup): boolean {
    return this.#groups.get(group.id) === group
  }

  #groupWith(id: string, channelId: AlertChannelId, { ruleId }: Episode): LiveGroup {
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { id, channelId, ruleId, lastToldAtMs: null, flushAtMs: null, repeatAtMs: null, members: new Set() }
      this.#groups.set(id, group)
      this.#ended.delete(id)
      // Even while all of it is muted and nothing is planned, it must be there after a restart.
      this.#changed.add(group)
    }
    return group
  }
}

/** When what is known is told once more; never: infinity. */
const dueOf = ({ lastToldAtMs }: Group, rule: AlertRule | undefined): number =>
  rule?.repeatSeconds == null || lastToldAtMs === null
    ? Number.POSITIVE_INFINITY
    : lastToldAtMs + rule.repeatSeconds * 1_000
