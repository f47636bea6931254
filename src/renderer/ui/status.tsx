import {
  IconAlertTriangleFilled,
  IconBan,
  IconCheck,
  IconCircleFilled,
  IconCircleHalf2,
  IconClock,
  IconEyeOff,
  IconHelp,
  IconHelpHexagon,
  IconX
} from '@tabler/icons-react'
import type { Node, NodeHealth, ShownStatus } from '../../shared/contract/index.ts'
import classes from './status.module.css'
import { formatInstant } from './time.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'
import { isAway } from '../../shared/node-health.ts'

export type Tone = 'run' | 'ok' | 'bad' | 'wait' | 'lost' | 'off'

/** Color, shape and word of each status. The shapes must be distinguishable without the color. */
export const STATUS_LOOK: Record<ShownStatus, { tone: Tone; Icon: typeof IconCheck; word: string }> = {
  queued: { tone: 'wait', Icon: IconClock, word: texts.queued },
  starting: { tone: 'run', Icon: IconCircleHalf2, word: texts.starting },
  running: { tone: 'run', Icon: IconCircleFilled, word: texts.running },
  succeeded: { tone: 'ok', Icon: IconCheck, word: texts.succeeded },
  failed: { tone: 'bad', Icon: IconX, word: texts.failed },
  cancelled: { tone: 'off', Icon: IconBan, word: texts.cancelled },
  lost: { tone: 'lost', Icon: IconHelp, word: texts.lost },
  unclear: { tone: 'lost', Icon: IconEyeOff, word: texts.unclear },
  unknown: { tone: 'lost', Icon: IconHelpHexagon, word: texts.unknown }
}

/** Scales the dot of a running job to look as large as the other shapes. */
const sizedAs = (status: ShownStatus, size: number) =>
  status === 'running' ? { size: size - 4, style: { margin: 2 }, stroke: 2.2 } : { size, stroke: 2.2 }

export function StatusIcon({ status, size = 14 }: { status: ShownStatus; size?: number }) {
  const { tone, Icon, word } = STATUS_LOOK[status]
  return <Icon className={`tone-${tone}`} {...sizedAs(status, size)} role="img" aria-label={word} />
}

/** `word` replaces the status while a request is not confirmed: `cancelling…`. */
export function StatusText({ status, word, title }: { status: ShownStatus; word?: string; title?: string }) {
  const { tone, Icon } = STATUS_LOOK[status]
  return (
    <span className={`${classes.status} tone-${tone}`} title={title}>
      <Icon {...sizedAs(status, 14)} aria-hidden />
      {word ?? STATUS_LOOK[status].word}
    </span>
  )
}

/** For a live job on an unreachable node. */
export function UnknownText({ sinceMs }: { sinceMs: number }) {
  const title = texts.stateUnknownSince(formatInstant(sinceMs))
  return <StatusText status="unknown" title={title} />
}

const HEALTH_LOOK: Record<NodeHealth, { tone: Tone; word: string }> = {
  unknown: { tone: 'off', word: texts.nodeUnchecked },
  up: { tone: 'ok', word: texts.nodeUp },
  down: { tone: 'bad', word: texts.nodeDown },
  unauthorized: { tone: 'bad', word: texts.nodeUnauthorized },
  invalid: { tone: 'bad', word: texts.nodeInvalid }
}

const MODE_WORDS: Record<Node['mode'], string> = {
  active: texts.nodeUp,
  cordoned: texts.nodeCordoned,
  draining: texts.nodeDraining
}

type NodeState = Pick<Node, 'health' | 'mode' | 'stuckSinceMs'>

/** Whether an operator must see to the node: it is away, or it is stuck. */
export const isTroubled = (node: NodeState): boolean => isAway(node.health) || node.stuckSinceMs !== null

/** A node's state in a word or two, problems first: `up`, `draining`, `down`, `stuck`. */
export function nodeWord({ health, mode, stuckSinceMs }: NodeState): string {
  if (health !== 'up') return HEALTH_LOOK[health].word
  if (stuckSinceMs !== null) return texts.nodeStuck
  return MODE_WORDS[mode]
}

/** Shows a filled dot for up, a ring for cordoned, draining or not checked yet, and a triangle for a problem. */
export function NodeHealthDot({ node }: { node: NodeState }) {
  const { health, mode } = node
  const word = nodeWord(node)
  if (isTroubled(node)) return <IconAlertTriangleFilled className="tone-bad" size={12} role="img" aria-label={word} />
  return (
    <span
      className={`${classes.dot} tone-${mode === 'active' ? HEALTH_LOOK[health].tone : 'off'} fixed`}
      data-ring={health === 'unknown' || mode !== 'active' || undefined}
      role="img"
      aria-label={word}
      title={word}
    />
  )
}
