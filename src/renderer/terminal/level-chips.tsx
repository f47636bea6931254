import { formatCount } from '../ui/numbers.ts'
import { LOG_LEVELS, type LogLevel } from './log-line.ts'
import classes from './log-terminal.module.css'
import { texts } from '../../shared/texts/ui/terminal.ts'

export interface LevelChipsProps {
  snapshot: {
    readonly shownLevels: ReadonlySet<LogLevel>
    readonly counts: Readonly<Record<LogLevel, number>>
    /** Whether the counts include all lines of the log. Default: true. */
    readonly holdsAll?: boolean
  }
  /** Records per level in the whole log, as far as the engine has read it. undefined: unknown. */
  records?: Readonly<Record<string, number>> | undefined
  onShow: (levels: ReadonlySet<LogLevel>) => void
}

/** The number of lines of a level in the whole log, or `28+` if only the loaded part was counted. */
function textOfCount(level: LogLevel, { snapshot: { counts, holdsAll = true }, records }: LevelChipsProps): string {
  const loaded = formatCount(counts[level])
  if (holdsAll) return loaded
  if (records === undefined) return `${loaded}+`
  // The view counts critical records as errors.
  const known = (records[level] ?? 0) + (level === 'ERROR' ? (records['CRITICAL'] ?? 0) : 0)
  return formatCount(Math.max(known, counts[level]))
}

export function LevelChips(props: LevelChipsProps) {
  const { snapshot, onShow } = props
  const { shownLevels } = snapshot
  const toggle = (level: LogLevel, alone: boolean) => {
    const isAlone = shownLevels.size === 1 && shownLevels.has(level)
    if (alone || isAlone) return onShow(new Set(isAlone ? LOG_LEVELS : [level]))
    const next = new Set(shownLevels)
    if (!next.delete(level)) next.add(level)
    onShow(next)
  }
  return (
    <span className={classes.chips} role="group" aria-label={texts.levelsShown}>
      {LOG_LEVELS.map((level) => (
        <button
          key={level}
          type="button"
          className={`${classes.chip} small`}
          data-level={level}
          aria-pressed={shownLevels.has(level)}
          title={(shownLevels.has(level) ? texts.hideLevel : texts.showLevel)(level)}
          onClick={(event) => toggle(level, event.shiftKey)}
        >
          <span className={classes.level}>{level}</span> <b className="semibold">{textOfCount(level, props)}</b>
        </button>
      ))}
    </span>
  )
}
