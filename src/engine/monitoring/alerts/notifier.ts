import type { AlertChannelId, AlertRule, AlertRuleId, ProjectName, QuietHours } from '../../../shared/contract/index.ts'
import { Heap } from '../../runtime/heap.ts'
import type { AlertMemory } from '../../model/records.ts'
import { type AlertMessage, copyOf, type Episode, type Group, groupIdOf, isFiring } from './episodes.ts'
import { Held, mostBefore, RecentMessages } from './limits.ts'
import { mayTell } from '../../notify/deliveries/channels/seen-news.ts'
import { quietUntilMs, waitsForQuietHours } from './muting.ts'

export interface AlertChannelSetup {
  quiet: QuietHours | null
  messagesPerHour: number | null
  projects?: readonly ProjectName[] | undefined
}

export interface HeldMessages {
  messages: number
  nextAtMs: number
}

interface NotifierParts {
  ruleOf: (id: AlertRuleId) => AlertRule | undefined
  channelOf: (id: AlertChannelId) => AlertChannelSetup | undefined
  isMuted: (one: Episode, atMs: number) => boolean
  onChange: (one: Episode) => void
}

interface LiveGroup extends Group {
  members: Set<Episode>
  lookAtMs: number | null
  isLimited: boolean
  /** The news to send, unless quiet hours hold it back. null: none. */
  news: { isCritical: boolean; oldestMs: number } | null
  /** When a reminder of the known alerts is due if nothing changes. null: never. */
  repeatAtMs: number | null
}

interface Look {
  atMs: number
  group: LiveGroup
}

const earliest = (): Heap<Look> => new Heap<Look>([], (one, other) => one.atMs < other.atMs)

/** Decides which channel gets which alerts in one message, and when (README.md, rules 4 to 9). */
export class Notifier {
  readonly #parts: NotifierParts
  readonly #groups = new Map<string, LiveGroup>()
  readonly #touched = new Set<LiveGroup>()
  /** These three heaps can contain outdated times. A time counts only if its group still has the same time. */
  readonly #looks = earliest()
  readonly #limitedLooks = earliest()
  readonly #repeats = earliest()
  readonly #recent = new RecentMessages()
  readonly #heldNews = new Held<LiveGroup>({
    roomAtMs: (channelId, isCritical) => this.#roomAtMs(channelId, isCritical, 'news'),
    compare: (one, other) => (one.news?.oldestMs ?? 0) - (other.news?.oldestMs ?? 0) || byId(one, other)
  })
  readonly #heldRepeats = new Held<LiveGroup>({
    roomAtMs: (channelId, isCritical) => this.#roomAtMs(channelId, isCritical, 'repeat'),
    compare: (one, other) => one.lastToldAtMs! - other.lastToldAtMs! || byId(one, other)
  })
  #changed = new Set<LiveGroup>()
  #ended = new Set<string>()
  #messages: AlertMessage[] = []

  constructor(parts: NotifierParts) {
    this.#parts = parts
  }

  restore(groups: readonly Group[], sent: AlertMemory['sent'], episodes: Iterable<Episode>): void {
    for (const { channelId, atMs } of sent) this.#recent.add(channelId, atMs)
    for (const group of groups) this.#groups.set(group.id, liveOf(group))
    for (const one of episodes) {
      for (const channelId of Object.keys(one.channels) as AlertChannelId[])
        this.#groupWith(one.channels[channelId]!.groupId, channelId, one).members.add(one)
    }
    this.touchAll()
  }

  join(one: Episode, rule: AlertRule, channels: readonly AlertChannelId[]): void {
    for (const channelId of channels) {
      const channel = this.#parts.channelOf(channelId)
      if (one.channels[channelId] !== undefined || channel === undefined) continue
      if (!mayTell(channel, one.labels.project)) continue
      const group = this.#groupWith(groupIdOf(channelId, rule, one), channelId, one)
      one.channels[channelId] = { groupId: group.id, isTold: false }
      group.members.add(one)
      this.#touched.add(group)
      this.#parts.onChange(one)
    }
  }

  touch(one: Episode): void {
    for (const { groupId } of Object.values(one.channels)) this.#touched.add(this.#groups.get(groupId)!)
  }

  /** Marks all groups to be planned again, because muting, quiet hours or recipients may have changed. */
  touchAll(): void {
    for (const group of this.#groups.values()) this.#touched.add(group)
  }

  /** Plans when to evaluate changed groups. Call this once for all events that happen together or in one call. */
  plan(atMs: number): void {
    for (const group of this.#touched) if (this.#isCurrent(group)) this.#plan(group, atMs)
    this.#touched.clear()
  }

  nextMs(): number {
    const heldMs = Math.min(this.#heldNews.nextMs(), this.#heldRepeats.nextMs())
    return Math.min(this.nextLookMs(), this.#firstLimitedMs(), this.#firstRepeatMs(), heldMs)
  }

  nextLookMs(): number {
    return firstOf(this.#looks, (group) => (this.#isCurrent(group) && !group.isLimited ? group.lookAtMs : null))
  }

  lookAt(atMs: number): void {
    while (this.nextLookMs() === atMs) this.#look(this.#looks.removeFirst()!.group, atMs, 'news')
  }

  lookAtLimited(nowMs: number): void {
    while (this.#firstLimitedMs() <= nowMs) {
      const { group } = this.#limitedLooks.removeFirst()!
      group.lookAtMs = null
      if (group.news === null) this.#look(group, nowMs, 'news')
      else this.#heldNews.add(group, group.news.isCritical, nowMs)
    }
    this.#heldNews.release(nowMs, (group) => this.#look(group, nowMs, 'news'))
  }

  /** Sends the reminders that are due. Reminders missed during a long sleep are sent as one, with the current time. */
  repeat(nowMs: number): void {
    const send = (group: LiveGroup) => {
      // Plans again, because quiet hours may have started.
      this.#plan(group, nowMs)
      if (this.#isCurrent(group) && group.repeatAtMs !== null && group.repeatAtMs <= nowMs)
        this.#look(group, nowMs, 'repeat')
    }
    while (this.#firstRepeatMs() <= nowMs) {
      const { group } = this.#repeats.removeFirst()!
      if (this.#isLimited(group)) {
        group.repeatAtMs = null
        this.#heldRepeats.add(group, this.#isCriticalRepeat(group, nowMs), nowMs)
      } else send(group)
    }
    this.#heldRepeats.release(nowMs, send)
  }

  held(nowMs: number): Map<AlertChannelId, HeldMessages> {
    const held = new Map<AlertChannelId, HeldMessages>()
    for (const { channelId, flushAtMs, news } of this.#groups.values()) {
      if (flushAtMs === null || flushAtMs > nowMs || news === null) continue
      const roomAtMs = this.#roomAtMs(channelId, news.isCritical, 'news')
      if (roomAtMs <= nowMs) continue
      const { messages = 0, nextAtMs = roomAtMs } = held.get(channelId) ?? {}
      held.set(channelId, { messages: messages + 1, nextAtMs: Math.min(nextAtMs, roomAtMs) })
    }
    return held
  }

  take() {
    const taken = {
      messages: this.#messages,
      groups: [...this.#changed].map(storedOf),
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
    const { news, known } = this.#sort(group, channel, atMs)
    this.#heldNews.remove(group)
    this.#heldRepeats.remove(group)
    if (group.members.size === 0) return this.#close(group)
    group.news = summaryOf(news)
    if (channel === undefined) {
      this.#planLook(group, null, atMs)
      group.repeatAtMs = null
      return
    }
    const quietMs = quietUntilMs(channel.quiet, atMs)
    const isHeld = (one: Episode) => quietMs !== null && waitsForQuietHours(one.severity)
    const moments = news.map((one) => (isHeld(one) ? quietMs! : atMs + (rule?.gatherSeconds ?? 0) * 1_000))
    if (group.flushAtMs !== null) moments.push(group.flushAtMs)
    this.#planLook(group, moments.length === 0 ? null : Math.min(...moments), atMs)
    this.#planRepeat(group, rule, known, atMs, (one) => (isHeld(one) ? quietMs! : atMs))
  }

  #planLook(group: LiveGroup, dueMs: number | null, nowMs: number): void {
    if (group.flushAtMs !== dueMs) {
      group.flushAtMs = dueMs
      this.#changed.add(group)
    }
    const lookAtMs = dueMs === null ? null : Math.max(dueMs, nowMs)
    const isLimited = this.#isLimited(group)
    if (group.lookAtMs === lookAtMs && group.isLimited === isLimited) return
    Object.assign(group, { lookAtMs, isLimited })
    if (lookAtMs !== null) (isLimited ? this.#limitedLooks : this.#looks).push({ atMs: lookAtMs, group })
  }

  #planRepeat(
    group: LiveGroup,
    rule: AlertRule | undefined,
    known: readonly Episode[],
    atMs: number,
    freeAtMs: (one: Episode) => number
  ): void {
    const dueMs = dueOf(group, rule)
    const moments = known.filter((one) => this.#isRepeated(one, atMs)).map((one) => Math.max(dueMs, freeAtMs(one)))
    const nextMs = Math.min(...moments)
    const before = group.repeatAtMs
    group.repeatAtMs = Number.isFinite(nextMs) ? nextMs : null
    if (group.repeatAtMs !== null && group.repeatAtMs !== before) this.#repeats.push({ atMs: nextMs, group })
  }

  #isRepeated(one: Episode, atMs: number): boolean {
    return one.acknowledged === null && !this.#parts.isMuted(one, atMs)
  }

  #isCriticalRepeat({ members, channelId }: LiveGroup, atMs: number): boolean {
    return [...members].some(
      (one) =>
        one.severity === 'critical' && isFiring(one) && one.channels[channelId]!.isTold && this.#isRepeated(one, atMs)
    )
  }

  #isLimited({ channelId }: LiveGroup): boolean {
    return this.#parts.channelOf(channelId)?.messagesPerHour != null
  }

  #roomAtMs(channelId: AlertChannelId, isCritical: boolean, kind: AlertMessage['kind']): number {
    const perHour = this.#parts.channelOf(channelId)?.messagesPerHour ?? null
    return this.#recent.roomAtMs(channelId, mostBefore(perHour, isCritical, kind))
  }

  #limitOf(channelId: AlertChannelId, atMs: number): AlertMessage['limit'] {
    const [ofAllMs, ofOthersMs] = [true, false].map((isCritical) => this.#roomAtMs(channelId, isCritical, 'news'))
    if (ofAllMs! > atMs) return { heldUntilMs: ofAllMs!, all: true }
    return ofOthersMs! > atMs ? { heldUntilMs: ofOthersMs!, all: false } : null
  }

  #firstLimitedMs(): number {
    return firstOf(this.#limitedLooks, (group) => (this.#isCurrent(group) && group.isLimited ? group.lookAtMs : null))
  }

  #firstRepeatMs(): number {
    return firstOf(this.#repeats, (group) => (this.#isCurrent(group) ? group.repeatAtMs : null))
  }

  /** `news`: sendable alerts that the channel does not know yet. `known`: firing alerts that it knows. */
  #sort(group: LiveGroup, channel: AlertChannelSetup | undefined, atMs: number) {
    const news: Episode[] = []
    const known: Episode[] = []
    for (const one of group.members) {
      const { isTold } = one.channels[group.channelId]!
      const isOver = !isFiring(one)
      if (channel === undefined ? isOver : !mayTell(channel, one.labels.project)) this.#leave(one, group)
      else if (isTold && !isOver) known.push(one)
      else if (isTold || !this.#parts.isMuted(one, atMs)) news.push(one)
      else if (isOver) this.#leave(one, group)
    }
    return { news, known }
  }

  #look(group: LiveGroup, atMs: number, what: AlertMessage['kind']): void {
    this.#planLook(group, null, atMs)
    group.repeatAtMs = null
    const channel = this.#parts.channelOf(group.channelId)
    if (channel !== undefined) this.#send(group, channel, atMs, what)
    this.#plan(group, atMs)
  }

  #send(group: LiveGroup, channel: AlertChannelSetup, atMs: number, what: AlertMessage['kind']): void {
    const { id: groupId, channelId, ruleId } = group
    const { news, known } = this.#sort(group, channel, atMs)
    const isQuiet = quietUntilMs(channel.quiet, atMs) !== null
    const isHeld = (one: Episode) => isQuiet && waitsForQuietHours(one.severity)
    const firing = news.filter((one) => isFiring(one) && !isHeld(one))
    const resolved = news.filter((one) => !isFiring(one) && !isHeld(one))
    const isDue = atMs >= dueOf(group, this.#parts.ruleOf(ruleId))
    const repeated = isDue ? known.filter((one) => this.#isRepeated(one, atMs) && !isHeld(one)) : []
    const hasNews = firing.length + resolved.length > 0
    if (!hasNews && (what === 'news' || repeated.length === 0)) return
    this.#recent.add(channelId, atMs)
    this.#messages.push({
      channelId,
      groupId,
      ruleId,
      atMs,
      kind: hasNews ? 'news' : 'repeat',
      firing: [...firing, ...repeated].map(copyOf),
      resolved: resolved.map(copyOf),
      stillFiring: known.length - repeated.length,
      limit: this.#limitOf(channelId, atMs)
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
      group = liveOf({ id, channelId, ruleId, lastToldAtMs: null, flushAtMs: null })
      this.#groups.set(id, group)
      this.#ended.delete(id)
      // The group is needed after a restart even if all its alerts are muted.
      this.#changed.add(group)
    }
    return group
  }
}

/** Returns the first time that is still current for its group, and drops outdated times. Infinity: none. */
function firstOf(heap: Heap<Look>, momentOf: (group: LiveGroup) => number | null): number {
  for (let next = heap.first(); next !== undefined; next = heap.first()) {
    if (momentOf(next.group) === next.atMs) return next.atMs
    heap.removeFirst()
  }
  return Number.POSITIVE_INFINITY
}

const liveOf = (group: Group): LiveGroup => ({
  ...group,
  members: new Set(),
  lookAtMs: null,
  isLimited: false,
  repeatAtMs: null,
  news: null
})

const storedOf = ({ id, channelId, ruleId, lastToldAtMs, flushAtMs }: LiveGroup): Group => ({
  id,
  channelId,
  ruleId,
  lastToldAtMs,
  flushAtMs
})

const byId = (one: Group, other: Group): number => (one.id < other.id ? -1 : 1)

function summaryOf(news: readonly Episode[]): LiveGroup['news'] {
  if (news.length === 0) return null
  return {
    isCritical: news.some(({ severity }) => severity === 'critical'),
    oldestMs: Math.min(...news.map(({ firedAtMs }) => firedAtMs!))
  }
}

const dueOf = ({ lastToldAtMs }: Group, rule: AlertRule | undefined): number =>
  rule?.repeatSeconds == null || lastToldAtMs === null
    ? Number.POSITIVE_INFINITY
    : lastToldAtMs + rule.repeatSeconds * 1_000
