import type { AlertChannelId, AlertGrouping, AlertRule, AlertRuleId } from '../../../shared/contract/index.ts'
import { decode, written, writtenAs } from '../../../shared/texts/message.ts'
import type { StoredAlertGroup, StoredEpisode } from '../../model/records.ts'

export type Episode = StoredEpisode
export type Group = StoredAlertGroup

export const isFiring = ({ state }: Episode): boolean => state === 'firing' || state === 'calming'

/** Copies an episode, because the book changes its episodes in place. */
export const copyOf = (one: Episode): Episode => ({ ...one, channels: { ...one.channels } })

export const textsOf = ({ subject, text }: Pick<Episode, 'subject' | 'text'>) => ({
  ...writtenAs('subject', decode(subject)),
  ...written(decode(text))
})

export interface AlertMessage {
  channelId: AlertChannelId
  groupId: string
  ruleId: AlertRuleId
  atMs: number
  /** `repeat`: a reminder of unacknowledged alerts, without news. */
  kind: 'news' | 'repeat'
  firing: Episode[]
  resolved: Episode[]
  stillFiring: number
  limit: { heldUntilMs: number; all: boolean } | null
}

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

export const CALM_MS = 600_000
