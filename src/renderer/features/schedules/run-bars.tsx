import type { Firing } from '../../../shared/contract/index.ts'
import { formatRuntime } from '../../../shared/time.ts'
import { formatInstant } from '../../ui/time.tsx'
import { firingWords, RUN_LOOKS, lookOf } from './run-look.tsx'
import classes from './run-bars.module.css'
import { texts } from '../../../shared/texts/ui/schedules.ts'

const BARS = 30
const BAR_PX = 4
const STEP_PX = 5
const HEIGHT_PX = 20
/** The height of the mark that a failed run has below the line, because color must not be the only signal. */
const FOOT_PX = 4

/**
 * The last runs of a schedule, oldest on the left. The color shows the outcome and the height shows the duration. A
 * hollow bar means that no job ran.
 */
export function RunBars({ firings }: { firings: readonly Firing[] }) {
  const shown = firings.slice(0, BARS).reverse()
  if (shown.length === 0) return <span className="faint">{texts.notRunYet}</span>
  const longest = Math.max(1, ...shown.map(({ durationMs }) => durationMs ?? 0))
  return (
    <svg
      className={classes.bars}
      width={BARS * STEP_PX}
      height={HEIGHT_PX}
      role="img"
      aria-label={barsInWords(shown)}
      data-run-bars
    >
      {/* Empty space before the first run keeps the newest run at the right edge. */}
      <rect
        className={classes.none}
        y={HEIGHT_PX - FOOT_PX - 1}
        width={Math.max(0, (BARS - shown.length) * STEP_PX - 1)}
        height={1}
      />
      {shown.map((firing, index) => {
        const room = HEIGHT_PX - FOOT_PX
        const ran = firing.state === 'fired'
        // With the square root, a run a tenth as long as the longest is still a bar and not a dot.
        const share = Math.sqrt((firing.durationMs ?? (firing.outcome === 'live' ? longest / 2 : 0)) / longest)
        const height = ran ? Math.max(3, Math.round(room * share)) : 8
        const x = (BARS - shown.length + index) * STEP_PX
        const { tone } = RUN_LOOKS[lookOf(firing)]
        const isTrouble = tone === 'bad' || tone === 'lost'
        return (
          <g key={firing.id} className={`tone-${tone}`}>
            <title>{firingInWords(firing)}</title>
            {/* Makes the whole height react to the pointer. */}
            <rect x={x} y={0} width={STEP_PX} height={HEIGHT_PX} fill="transparent" />
            {ran ? (
              <rect x={x} y={room - height} width={BAR_PX} height={height} rx={1} fill="currentColor" />
            ) : (
              <rect
                x={x + 0.5}
                y={room - height + 0.5}
                width={BAR_PX - 1}
                height={height - 1}
                rx={1}
                fill="none"
                stroke="currentColor"
              />
            )}
            {isTrouble && <rect x={x} y={HEIGHT_PX - 2.5} width={BAR_PX} height={1.5} fill="currentColor" />}
          </g>
        )
      })}
    </svg>
  )
}

function firingInWords(firing: Firing): string {
  const took = firing.durationMs === null ? '' : texts.ranIn(formatRuntime(firing.durationMs))
  const text = firing.text === '' ? '' : ` – ${firing.text}`
  return `${formatInstant(firing.nominalMs)}: ${firingWords(firing)}${took}${text}`
}

function barsInWords(firings: readonly Firing[]): string {
  const byWord = Map.groupBy(firings, (firing) => RUN_LOOKS[lookOf(firing)].word)
  return texts.lastRuns(firings.length, [...byWord].map(([word, { length }]) => `${length} ${word}`).join(', '))
}
