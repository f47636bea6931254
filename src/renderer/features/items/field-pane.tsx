import { useQuery } from '@tanstack/react-query'
import type { FieldStatistics } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { ItemsOf } from '../../ui/items/items-of.ts'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead } from '../../ui/pane-head.tsx'
import { DetailPane, FieldRow } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './items-screen.module.css'

interface FieldPaneProps {
  of: ItemsOf
  field: string
  onValue: (value: string) => void
  onClose: () => void
}

/** What the values of one field are like, in all items of the run. */
export function FieldPane({ of, field, onValue, onClose }: FieldPaneProps) {
  const { query } = useApi()
  const statistics = useQuery(query.items.fieldStatistics.queryOptions({ input: { ...of, field }, retry: false }))
  return (
    <DetailPane label="Field statistics">
      <PaneHead what="statistics" onClose={onClose}>
        <h2 className="ellipsis">{field === '' ? '(no name)' : field}</h2>
      </PaneHead>
      <QueryState query={statistics} what="the statistics">
        {(data) => <Figures data={data} onValue={onValue} />}
      </QueryState>
    </DetailPane>
  )
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${part === whole ? 100 : Math.min(99.9, Math.round((1000 * part) / whole) / 10)} %`

const formatNumber = (value: number): string => new Intl.NumberFormat('en', { maximumFractionDigits: 4 }).format(value)

function Figures({ data, onValue }: { data: FieldStatistics; onValue: (value: string) => void }) {
  const { items, filled, distinct, numbers, length, top, unreadable } = data
  const most = top[0]?.count ?? 1
  return (
    <>
      <div>
        <FieldRow label="Filled">
          {percent(filled, items)}{' '}
          <span className="faint">
            {formatCount(filled)} of {formatCount(items)} items
          </span>
        </FieldRow>
        <FieldRow label="Distinct values">
          {distinct > 100 ? `about ${formatCount(distinct)}` : formatCount(distinct)}
        </FieldRow>
        {numbers !== null && (
          <>
            {numbers.count < filled && (
              <FieldRow label="Numbers">{percent(numbers.count, filled)} of the values</FieldRow>
            )}
            <FieldRow label="Minimum">{formatNumber(numbers.min)}</FieldRow>
            <FieldRow label="Maximum">{formatNumber(numbers.max)}</FieldRow>
            <FieldRow label="Mean">{formatNumber(numbers.mean)}</FieldRow>
          </>
        )}
        {length !== null && numbers === null && (
          <FieldRow label="Length">
            {formatCount(length.min)} to {formatCount(length.max)} characters, {formatNumber(Math.round(length.mean))}{' '}
            on average
          </FieldRow>
        )}
        {unreadable > 0 && <FieldRow label="Unreadable">{formatCount(unreadable)} lines</FieldRow>}
      </div>
      {top.length > 0 ? (
        <div>
          <h3 className={classes.subtitle}>Most frequent values</h3>
          <ol className={classes.top}>
            {top.map(({ value, count }) => (
              <li key={value}>
                <button type="button" title="Show only these items" onClick={() => onValue(value)}>
                  <span className="ellipsis">{value}</span>
                  <span>{formatCount(count)}</span>
                  <i style={{ width: `${(100 * count) / most}%` }} aria-hidden />
                </button>
              </li>
            ))}
          </ol>
        </div>
      ) : (
        filled > 0 && <p className={classes.note}>Nearly all values are distinct, so none is frequent.</p>
      )}
    </>
  )
}
