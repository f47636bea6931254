import { IconAlertTriangle, IconBan, IconCheck } from '@tabler/icons-react'
import type { AuditEntry } from '../../../shared/contract/index.ts'
import { formatCount } from '../../ui/numbers.ts'
import type { Column } from '../../ui/table/column.ts'
import { RelativeTime } from '../../ui/time.tsx'
import classes from './audit.module.css'
import { originWords, targetWords, whoWords } from './audit-words.ts'
import { texts } from '../../../shared/texts/ui/audit.ts'

const LOOKS = {
  done: { tone: 'ok', Icon: IconCheck, word: texts.doneState },
  refused: { tone: 'bad', Icon: IconBan, word: texts.refusedState },
  failed: { tone: 'wait', Icon: IconAlertTriangle, word: texts.failedState }
} as const

export function ResultText({ entry: { result, code, count } }: { entry: AuditEntry }) {
  const { tone, Icon, word } = LOOKS[result]
  return (
    <span className={`tone-${tone} ${classes.result}`} title={code ?? undefined}>
      <Icon size={14} stroke={2.2} aria-hidden />
      {word}
      {count > 1 && <span title={texts.timesWithinAMinute(count)}> ×{formatCount(count)}</span>}
    </span>
  )
}

export const AUDIT_COLUMNS: Column<AuditEntry>[] = [
  {
    id: 'time',
    header: texts.when,
    width: '84px',
    cell: ({ atMs }) => (
      <span className="dim">
        <RelativeTime atMs={atMs} ago />
      </span>
    )
  },
  {
    id: 'who',
    header: texts.who,
    width: 'minmax(90px, 1fr)',
    cell: (entry) => (
      <span className={classes.who} title={`${whoWords(entry)}${entry.who.role === null ? '' : `, ${entry.who.role}`}`}>
        <span className="ellipsis">{entry.who.name}</span>
        {entry.who.tokenName !== null && <span className="ellipsis faint">{entry.who.tokenName}</span>}
        {entry.who.role === null && <span className="faint">{texts.unknown}</span>}
      </span>
    )
  },
  {
    id: 'operation',
    header: texts.operation,
    width: 'minmax(120px, 1.2fr)',
    cell: ({ operation }) => (
      <span className="mono ellipsis" title={operation}>
        {operation}
      </span>
    )
  },
  {
    id: 'target',
    header: texts.on,
    width: 'minmax(120px, 2fr)',
    hideBelowPx: 620,
    cell: (entry) => (
      <span className="ellipsis" title={targetWords(entry)}>
        {targetWords(entry) || <span className="faint">–</span>}
      </span>
    )
  },
  {
    id: 'from',
    header: texts.from,
    width: 'minmax(100px, 1.2fr)',
    hideBelowPx: 780,
    cell: (entry) => (
      <span className="ellipsis dim" title={originWords(entry)}>
        {originWords(entry)}
      </span>
    )
  },
  { id: 'result', header: texts.result, width: '104px', cell: (entry) => <ResultText entry={entry} /> }
]
