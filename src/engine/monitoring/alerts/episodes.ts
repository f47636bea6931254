import type { AlertChannelId, AlertGrouping, AlertRule, AlertRuleId } from '../../../shared/contract/index.ts'
import type { StoredAlertGroup, StoredEpisode } from '../../model/records.ts'

export type Episode = StoredEpisode
export type Group = StoredAlertGroup

export const isFiring = ({ state }: Episode): boolean => state === 'firing' || state === 'calming'

/** As it is now: the book changes its own. */
export const copyOf = (one: Episode): Episode => ({ ...one, channels: { ...one.channels } })

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
  /** As AlertNews has it. */
  limit: { heldUntilMs: number; all: boolean } | null
}

/** Of what one channel is told in one message. */
export const groupIdOf = (channelId: AlertChannelId, rule: Pick<AlertRule, 'id' | 'groupBy'>, one: Episode): string =>
  `${channelId} ${rule.id} ${rule.groupBy} ${partOf(rule.groupBy, one)}`

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

/** How long what came too often must be quiet before its end is believed. */
export const CALM_MS = 600_000
