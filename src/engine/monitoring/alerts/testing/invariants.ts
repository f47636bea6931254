import type { AlertSetup } from '../alert-book.ts'
import { type AlertMessage, isFiring } from '../episodes.ts'
import { mutedBecause } from '../muting.ts'

export function sentTooOften(sent: readonly AlertMessage[]): string[] {
  const ended = new Set<string>()
  const problems: string[] = []
  for (const { channelId, firing, resolved } of sent) {
    for (const { id } of firing) if (ended.has(`${channelId} ${id}`)) problems.push(`${id} fires after its end`)
    for (const { id } of resolved) {
      if (ended.has(`${channelId} ${id}`)) problems.push(`${id} has ended twice`)
      ended.add(`${channelId} ${id}`)
    }
  }
  return problems
}

export function neverSentResolved(sent: readonly AlertMessage[], alwaysOn: ReadonlySet<string>): string[] {
  const open = new Set<string>()
  for (const { channelId, firing, resolved } of sent.filter((one) => alwaysOn.has(one.channelId))) {
    for (const { id } of firing) open.add(`${channelId} ${id}`)
    for (const { id } of resolved) open.delete(`${channelId} ${id}`)
  }
  return [...open]
}

export function sentWhileMuted({ firing, atMs }: AlertMessage, { muting }: AlertSetup): string[] {
  const muted = firing.filter((one) => mutedBecause(one, { ...muting, downNodes: new Set() }, atMs) !== null)
  return muted.map(({ id }) => `${id} is sent while it is muted`)
}

/**
 * Returns the messages of a group that follow each other too closely. Assumes that rules do not change and channels
 * have no quiet hours.
 */
export function sentTooClose(sent: readonly AlertMessage[], { rules }: AlertSetup): string[] {
  const last = new Map<string, number>()
  const problems: string[] = []
  for (const { groupId, ruleId, atMs } of sent.toSorted((one, other) => one.atMs - other.atMs)) {
    const { gatherSeconds, repeatSeconds } = rules.find(({ id }) => id === ruleId)!
    const leastMs = Math.min(gatherSeconds, repeatSeconds ?? gatherSeconds) * 1_000
    if (atMs - (last.get(groupId) ?? -leastMs) < leastMs) problems.push(`${groupId} is sent twice before ${atMs}`)
    last.set(groupId, atMs)
  }
  return problems
}

export function sentBeyondLimit(sent: readonly AlertMessage[], { channels }: AlertSetup): string[] {
  return sent.flatMap((message, index) => {
    const { channelId, atMs, firing, resolved } = message
    const perHour = channels.get(channelId)?.messagesPerHour ?? null
    const isOfLastHour = (one: AlertMessage) => one.channelId === channelId && one.atMs > atMs - 3_600_000
    const before = sent.slice(0, index).filter(isOfLastHour).length
    const isCritical = [...firing, ...resolved].some(({ severity }) => severity === 'critical')
    const most = perHour === null ? Number.POSITIVE_INFINITY : isCritical ? 2 * perHour : perHour
    return before < most ? [] : [`${channelId} gets a message at ${atMs} after ${before} messages`]
  })
}

export function falseMessages(sent: readonly AlertMessage[]): string[] {
  return sent
    .filter(
      ({ firing, resolved, kind }) =>
        firing.length + resolved.length === 0 ||
        !firing.every(isFiring) ||
        resolved.some(isFiring) ||
        (kind === 'repeat' && resolved.length > 0)
    )
    .map(({ groupId, atMs }) => `${groupId} at ${atMs}`)
}
