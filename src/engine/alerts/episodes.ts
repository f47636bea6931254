import type { Alert, AlertChannelId, AlertGrouping, AlertRule, AlertRuleId } from '../../shared/contract/index.ts'

/** One time that something was as a rule says, from the first moment on until everybody has been told of its end. */
export interface Episode extends Omit<Alert, 'state' | 'muted' | 'isFlapping'> {
  /** Of what it is, as in its facts. */
  key: string
  /** `calming`: it is not so any more, but was so too often lately to be believed: for everybody it still fires. */
  state: 'pending' | 'firing' | 'calming' | 'resolved'
  /** When it stopped being so; of one that is resolved, when that was believed. */
  endedAtMs: number | null
  isEscalated: boolean
  /** Channels that are to be told of it, or know that it fires (`isTold`). None is left once all know its end. */
  channels: Record<AlertChannelId, { groupId: string; isTold: boolean }>
}

export const isFiring = ({ state }: Episode): boolean => state === 'firing' || state === 'calming'

/** Alerts that one channel is told of in one message. */
export interface Group {
  id: string
  channelId: AlertChannelId
  ruleId: AlertRuleId
  lastToldAtMs: number | null
  /** When it is looked at next; null: there is nothing to tell. */
  flushAtMs: number | null
}

/** What of a group is told of at one moment. */
export interface AlertMessage {
  channelId: AlertChannelId
  groupId: string
  ruleId: AlertRuleId
  atMs: number
  /** `repeat`: nothing is new, but nobody has acknowledged it. */
  kind: 'news' | 'repeat'
  firing: Episode[]
  /** Also those that began and ended before anybody was told. */
  resolved: Episode[]
  /** Which were told of before, and go on. */
  stillFiring: number
}

/** Of what one channel is told in one message. */
export const groupIdOf = (channelId: AlertChannelId, rule: Pick<AlertRule, 'id' | 'groupBy'>, one: Episode): string =>
  `${channelId} ${rule.id} ${partOf(rule.groupBy, one)}`

function partOf(groupBy: AlertGrouping, { key, labels }: Episode): string {
  switch (groupBy) {
    case 'rule':
      return ''
    case 'project':
      return labels.project ?? ''
    case 'node':
      return labels.nodeId ?? ''
    case 'each':
      return key
  }
}

/** An alert that ended this often within the hour has to be quiet for a while before its end is believed. */
const ENDS_OF_FLAPPING = 3
export const FLAP_WINDOW_MS = 3_600_000
export const CALM_MS = 600_000

export const isFlapping = (ends: readonly number[], nowMs: number): boolean =>
  ends.filter((atMs) => atMs > nowMs - FLAP_WINDOW_MS).length >= ENDS_OF_FLAPPING
