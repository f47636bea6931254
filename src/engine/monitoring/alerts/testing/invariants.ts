import type { AlertSetup } from '../alert-book.ts'
import { type AlertMessage, isFiring } from '../episodes.ts'
import { mutedBecause } from '../muting.ts'

/** Alerts of which a channel is told that they fire after it was told that they ended, or twice that they ended. */
export function toldTooOften(told: readonly AlertMessage[]): string[] {
  const ended = new Set<string>()
  const problems: string[] = []
  for (const { channelId, firing, resolved } of told) {
    for (const { id } of firing) if (ended.has(`${channelId} ${id}`)) problems.push(`${id} fires after its end`)
    for (const { id } of resolved) {
      if (ended.has(`${channelId} ${id}`)) problems.push(`${id} has ended twice`)
      ended.add(`${channelId} ${id}`)
    }
  }
  return problems
}

/** Alerts of which a channel that was always on has been told that they fire, and not that they ended. */
export function neverToldResolved(told: readonly AlertMessage[], alwaysOn: ReadonlySet<string>): string[] {
  const open = new Set<string>()
  for (const { channelId, firing, resolved } of told.filter((one) => alwaysOn.has(one.channelId))) {
    for (const { id } of firing) open.add(`${channelId} ${id}`)
    for (const { id } of resolved) open.delete(`${channelId} ${id}`)
  }
  return [...open]
}

/** Alerts that are told to fire while a silence or a cordoned node mutes them. */
export function toldWhileMuted({ firing, atMs }: AlertMessage, { muting }: AlertSetup): string[] {
  const muted = firing.filter((one) => mutedBecause(one, { ...muting, downNodes: new Set() }, atMs) !== null)
  return muted.map(({ id }) => `${id} is told while it is muted`)
}

/** Messages of a group that come too close together, if rules stay as they are and channels have no quiet hours. */
export function toldTooClose(told: readonly AlertMessage[], { rules }: AlertSetup): string[] {
  const last = new Map<string, number>()
  const problems: string[] = []
  for (const { groupId, ruleId, atMs } of told.toSorted((one, other) => one.atMs - other.atMs)) {
    const { gatherSeconds, repeatSeconds } = rules.find(({ id }) => id === ruleId)!
    const leastMs = Math.min(gatherSeconds, repeatSeconds ?? gatherSeconds) * 1_000
    if (atMs - (last.get(groupId) ?? -leastMs) < leastMs) problems.push(`${groupId} is told of twice before ${atMs}`)
    last.set(groupId, atMs)
  }
  return problems
}

/** Messages for which the limit of their channel had no room, if channels stay as they are. */
export function toldBeyondLimit(told: readonly AlertMessage[], { channels }: AlertSetup): string[] {
  return told.flatMap((message, index) => {
    const { channelId, atMs, firing, resolved } = message
    const perHour = channels.get(channelId)?.messagesPerHour ?? null
    const isOfLastHour = (one: AlertMessage) => one.channelId === channelId && one.atMs > atMs - 3_600_000
    const before = told.slice(0, index).filter(isOfLastHour).length
    const isCritical = [...firing, ...resolved].some(({ severity }) => severity === 'critical')
    const most = perHour === null ? Number.POSITIVE_INFINITY : isCritical ? 2 * perHour : perHour
    return before < most ? [] : [`${channelId} is told at ${atMs} after ${before} messages`]
  })
}

/** Messages that say of an alert what it is not, or say nothing. */
export function falseMessages(told: readonly AlertMessage[]): string[] {
  return told
    .filter(
      ({ firing, resolved, kind }) =>
        firing.length + resolved.length === 0 ||
        !firing.every(isFiring) ||
        resolved.some(isFiring) ||
        (kind === 'repeat' && resolved.length > 0)
    )
    .map(({ groupId, atMs }) => `${groupId} at ${atMs}`)
}
