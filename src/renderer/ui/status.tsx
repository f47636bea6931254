import {
  IconAlertTriangleFilled,
  IconBan,
  IconCheck,
  IconCircleFilled,
  IconCircleHalf2,
  IconClock,
  IconHelp,
  IconHelpHexagon,
  IconX
} from '@tabler/icons-react'
import type { JobStatus, NodeHealth, NodeMode } from '../../shared/contract/index.ts'
import classes from './status.module.css'
import { formatInstant } from './time.tsx'

export type Tone = 'run' | 'ok' | 'bad' | 'wait' | 'lost' | 'off'

/** Colour and shape of each status: the shape alone must tell it too. */
export const STATUS_LOOK: Record<JobStatus, { tone: Tone; Icon: typeof IconCheck }> = {
  queued: { tone: 'wait', Icon: IconClock },
  starting: { tone: 'run', Icon: IconCircleHalf2 },
  running: { tone: 'run', Icon: IconCircleFilled },
  succeeded: { tone: 'ok', Icon: IconCheck },
  failed: { tone: 'bad', Icon: IconX },
  cancelled: { tone: 'off', Icon: IconBan },
  lost: { tone: 'lost', Icon: IconHelp }
}

/** The shape of a status; its name is read to those who do not see it. */
export function StatusIcon({ status, size = 14 }: { status: JobStatus; size?: number }) {
  const { tone, Icon } = STATUS_LOOK[status]
  return (
    <Icon
      className={`tone-${tone}`}
      size={status === 'running' ? size - 4 : size}
      style={status === 'running' ? { margin: 2 } : undefined}
      stroke={2.2}
      role="img"
      aria-label={status}
    />
  )
}

/** Shape and word. `word`: what is said instead while something was asked that is not confirmed: `cancelling…`. */
export function StatusText({ status, word }: { status: JobStatus; word?: string }) {
  const { tone, Icon } = STATUS_LOOK[status]
  return (
    <span className={`${classes.status} tone-${tone}`}>
      <Icon
        size={status === 'running' ? 10 : 14}
        style={status === 'running' ? { margin: 2 } : undefined}
        stroke={2.2}
        aria-hidden
      />
      {word ?? status}
    </span>
  )
}

/** Of a live job whose node does not answer: nobody knows what became of it. */
export function UnknownText({ sinceMs }: { sinceMs: number }) {
  return (
    <span
      className={`${classes.status} tone-lost`}
      title={`State unknown: the node has been unreachable since ${formatInstant(sinceMs)}`}
    >
      <IconHelpHexagon size={14} stroke={2.2} aria-hidden />
      unknown
    </span>
  )
}

const HEALTH_LOOK: Record<NodeHealth, { tone: Tone; word: string }> = {
  unknown: { tone: 'off', word: 'not checked yet' },
  up: { tone: 'ok', word: 'up' },
  down: { tone: 'bad', word: 'down' },
  unauthorized: { tone: 'bad', word: 'authentication failed' },
  invalid: { tone: 'bad', word: 'not a Scrapyd server' }
}

/** What a node's dot means, in one word or two: `up`, `draining`, `down`. */
export function nodeHealthWord(health: NodeHealth, mode: NodeMode): string {
  return health === 'up' && mode !== 'active' ? mode : HEALTH_LOOK[health].word
}

/** Round: up. Ring: cordoned or draining. Triangle: trouble. Grey: not asked yet. */
export function NodeHealthDot({
  health,
  mode,
  isStuck = false
}: {
  health: NodeHealth
  mode: NodeMode
  /** It answers, and starts nothing. */
  isStuck?: boolean
}) {
  const word = health === 'up' && isStuck ? 'stuck' : nodeHealthWord(health, mode)
  const tone = isStuck ? 'bad' : health === 'up' && mode !== 'active' ? 'off' : HEALTH_LOOK[health].tone
  if (tone === 'bad')
    return <IconAlertTriangleFilled className={`tone-bad ${classes.trouble}`} size={12} role="img" aria-label={word} />
  return (
    <span
      className={`${classes.dot} tone-${tone}`}
      data-ring={health === 'unknown' || mode !== 'active' || undefined}
      role="img"
      aria-label={word}
      title={word}
    />
  )
}
