import type {
  AlertLabels,
  AlertRuleId,
  AlertSeverity,
  AlertSilence,
  NodeId,
  QuietHours
} from '../../../shared/contract/index.ts'
import { type AlertWatch, subjectOf } from '../../../shared/alert-watches.ts'
import { windowFrom } from '../../../shared/calendar/windows.ts'
import { momentOfWall, stretchAt } from '../../../shared/calendar/zones.ts'
import { isInScope } from './signal.ts'

export interface Muting {
  silences: readonly AlertSilence[]
  /** Nodes with a `node_down` alert that a channel reports. Their other alerts are muted. */
  downNodes: Pick<ReadonlySet<NodeId>, 'has'>
  cordonedNodes: ReadonlySet<NodeId>
}

interface Mutable {
  ruleId: AlertRuleId
  watch: AlertWatch
  labels: AlertLabels
}

export function mutedBecause(
  { ruleId, watch, labels }: Mutable,
  { silences, downNodes, cordonedNodes }: Muting,
  nowMs: number
): 'silenced' | 'node_down' | 'node_cordoned' | null {
  const { nodeId } = labels
  if (nodeId !== null && cordonedNodes.has(nodeId)) return 'node_cordoned'
  if (nodeId !== null && subjectOf(watch) !== 'node' && downNodes.has(nodeId)) return 'node_down'
  const isSilenced = silences.some(
    (silence) =>
      (silence.ruleId === null || silence.ruleId === ruleId) && isInScope(silence, labels) && lasts(silence, nowMs)
  )
  return isSilenced ? 'silenced' : null
}

export function nextSilenceMs(silences: readonly AlertSilence[], nowMs: number): number | null {
  const moments = silences.flatMap((silence) => {
    const window = windowFrom(silence, nowMs)
    return window === null ? [] : window.fromMs > nowMs ? window.fromMs : window.untilMs
  })
  return moments.length === 0 ? null : Math.min(...moments)
}

const lasts = (silence: AlertSilence, nowMs: number): boolean => {
  const window = windowFrom(silence, nowMs)
  return window !== null && window.fromMs <= nowMs
}

export const waitsForQuietHours = (severity: AlertSeverity): boolean => severity !== 'critical'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** When the current quiet hours end. null: `nowMs` is not in quiet hours. A clock change does not shift the end. */
export function quietUntilMs(quiet: QuietHours | null, nowMs: number): number | null {
  if (quiet === null) return null
  const wallMs = nowMs + stretchAt(quiet.zone, nowMs).offsetMs
  const today = Math.floor(wallMs / DAY_MS)
  const [from, until] = [minutesOf(quiet.from), minutesOf(quiet.until)]
  for (const day of [today - 1, today]) {
    // 1970-01-01 was a Thursday.
    if (!quiet.days.includes((day + 4) % 7)) continue
    const lasting = (until - from + 1_440) % 1_440 || 1_440
    const fromMs = momentOfWall(quiet.zone, day * DAY_MS + from * MINUTE_MS)
    const untilMs = momentOfWall(quiet.zone, day * DAY_MS + (from + lasting) * MINUTE_MS)
    if (fromMs <= nowMs && nowMs < untilMs) return untilMs
  }
  return null
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))
