import { formatCount } from '../ui/numbers.ts'
import { LOG_LEVELS, type LogLevel } from './log-line.ts'
import classes from './log-terminal.module.css'

interface LevelChipsProps {
  snapshot: { readonly shownLevels: ReadonlySet<LogLevel>; readonly counts: Readonly<Record<LogLevel, number>> }
  onShow: (levels: ReadonlySet<LogLevel>) => void
}

/** A click hides or shows a level; with Shift, or on a double click, only that level is shown. */
export function LevelChips({ snapshot, onShow }: LevelChipsProps) {
  const { shownLevels, counts } = snapshot
  const toggle = (level: LogLevel, alone: boolean) => {
    const isAlone = shownLevels.size === 1 && shownLevels.has(level)
    if (alone || isAlone) return onShow(new Set(isAlone ? LOG_LEVELS : [level]))
    const next = new Set(shownLevels)
    if (!next.delete(level)) next.add(level)
    onShow(next)
  }
  return (
    <span className={classes.chips} role="group" aria-label="Levels shown">
      {LOG_LEVELS.map((level) => (
        <button
          key={level}
          type="button"
          className={classes.chip}
          data-level={level}
          aria-pressed={shownLevels.has(level)}
          title={`${shownLevels.has(level) ? 'Hide' : 'Show'} ${level}; with Shift: only ${level}`}
          onClick={(event) => toggle(level, event.shiftKey)}
        >
          <span className={classes.level}>{level}</span> <b>{formatCount(counts[level])}</b>
        </button>
      ))}
    </span>
  )
}
