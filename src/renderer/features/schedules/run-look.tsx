import {
  IconAlertTriangleFilled,
  IconBan,
  IconCheck,
  IconCircleDashed,
  IconCircleFilled,
  IconClockX,
  IconEyeOff,
  IconHelp,
  IconPlayerSkipForwardFilled,
  IconX
} from '@tabler/icons-react'
import type { Firing } from '../../../shared/contract/index.ts'
import type { Tone } from '../../ui/status.tsx'
import { texts } from '../../../shared/texts/ui/schedules.ts'

/** Color, shape and word for the outcome of a run. Each of the three is sufficient. */
export const RUN_LOOKS: Record<RunLook, { tone: Tone; Icon: typeof IconCheck; word: string }> = {
  ahead: { tone: 'off', Icon: IconCircleDashed, word: texts.upcoming },
  live: { tone: 'run', Icon: IconCircleFilled, word: texts.running },
  succeeded: { tone: 'ok', Icon: IconCheck, word: texts.succeeded },
  failed: { tone: 'bad', Icon: IconX, word: texts.failed },
  cancelled: { tone: 'off', Icon: IconBan, word: texts.cancelled },
  lost: { tone: 'lost', Icon: IconHelp, word: texts.lost },
  unclear: { tone: 'lost', Icon: IconEyeOff, word: texts.unclear },
  skipped: { tone: 'wait', Icon: IconPlayerSkipForwardFilled, word: texts.skippedWord },
  missed: { tone: 'bad', Icon: IconClockX, word: texts.missedWord },
  refused: { tone: 'bad', Icon: IconAlertTriangleFilled, word: texts.couldNotRunWord }
}

export function RunIcon({ look, size = 12 }: { look: RunLook; size?: number }) {
  const { tone, Icon, word } = RUN_LOOKS[look]
  const drawn = look === 'live' ? size - 3 : size
  return <Icon className={`tone-${tone}`} size={drawn} stroke={2.4} role="img" aria-label={word} />
}

/** `missed × 3` */
export const firingWords = (firing: Firing): string =>
  RUN_LOOKS[lookOf(firing)].word + (firing.count > 1 ? ` × ${firing.count}` : '')

/** What a scheduled run led to: the outcome of its jobs, or why there are none. `ahead`: upcoming. */
export type RunLook = 'ahead' | NonNullable<Firing['outcome']> | 'skipped' | 'missed' | 'refused'

export function lookOf({ state, outcome }: Firing): RunLook {
  if (state === 'failed') return 'refused'
  return state === 'fired' ? (outcome ?? 'live') : state
}
