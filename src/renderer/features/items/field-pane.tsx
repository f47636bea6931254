import { useQuery } from '@tanstack/react-query'
import type { FieldStatistics } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { ItemsOf } from '../../ui/items/items-facts.ts'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead, DetailPane, FieldRow } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import classes from './items-screen.module.css'
import { Flex, Menu } from '@mantine/core'
import {
  IconChartBar,
  IconEyeOff,
  IconFilterOff,
  IconSortAscending,
  IconSortDescending,
  IconX
} from '@tabler/icons-react'
import type { ItemsSort } from './items-filter.ts'
import { locale } from '../../../shared/locale.ts'
import { texts } from '../../../shared/texts/ui/items.ts'

interface FieldPaneProps {
  of: ItemsOf
  field: string
  onValue: (value: string) => void
  onClose: () => void
}

export function FieldPane({ of, field, onValue, onClose }: FieldPaneProps) {
  const { query } = useApi()
  const statistics = useQuery(query.items.fieldStatistics.queryOptions({ input: { ...of, field }, retry: false }))
  return (
    <DetailPane label={texts.fieldStatistics}>
      <PaneHead what={texts.theStatistics} onClose={onClose}>
        <h2 className="ellipsis">{field === '' ? texts.noName : field}</h2>
      </PaneHead>
      <QueryState query={statistics} what={texts.theStatistics}>
        {(data) => <Figures data={data} onValue={onValue} />}
      </QueryState>
    </DetailPane>
  )
}

const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${part === whole ? 100 : Math.min(99.9, Math.round((1000 * part) / whole) / 10)} %`

const formatNumber = (value: number): string =>
  new Intl.NumberFormat(locale(), { maximumFractionDigits: 4 }).format(value)

function Figures({ data, onValue }: { data: FieldStatistics; onValue: (value: string) => void }) {
  const { items, filled, distinct, numbers, length, top, unreadable } = data
  const most = top[0]?.count ?? 1
  return (
    <>
      <div>
        <FieldRow label={texts.filled}>
          {percent(filled, items)} <span className="faint">{texts.filledOfItems(filled, items)}</span>
        </FieldRow>
        <FieldRow label={texts.distinctValues}>
          {distinct > 100 ? texts.aboutCount(distinct) : formatCount(distinct)}
        </FieldRow>
        {numbers !== null && (
          <>
            {numbers.count < filled && (
              <FieldRow label={texts.numbers}>{texts.shareOfValues(percent(numbers.count, filled))}</FieldRow>
            )}
            <FieldRow label={texts.minimum}>{formatNumber(numbers.min)}</FieldRow>
            <FieldRow label={texts.maximum}>{formatNumber(numbers.max)}</FieldRow>
            <FieldRow label={texts.mean}>{formatNumber(numbers.mean)}</FieldRow>
          </>
        )}
        {length !== null && numbers === null && (
          <FieldRow label={texts.length}>
            {texts.lengthRange(length.min, length.max, formatNumber(Math.round(length.mean)))}
          </FieldRow>
        )}
        {unreadable > 0 && <FieldRow label={texts.unreadable}>{texts.lineCount(unreadable)}</FieldRow>}
      </div>
      {top.length > 0 ? (
        <div>
          <h3 className={`${classes.subtitle} dim small`}>{texts.mostFrequentValues}</h3>
          <Flex component="ol" direction="column" gap={1} className={classes.top}>
            {top.map(({ value, count }) => (
              <li key={value}>
                <button type="button" title={texts.topValueHint} onClick={() => onValue(value)}>
                  <span className="ellipsis">{value}</span>
                  <span>{formatCount(count)}</span>
                  <i style={{ width: `${(100 * count) / most}%` }} aria-hidden />
                </button>
              </li>
            ))}
          </Flex>
        </div>
      ) : (
        filled > 0 && <p className="dim small">{texts.noFrequentValues}</p>
      )}
    </>
  )
}

interface FieldHeaderProps {
  name: string
  sort: ItemsSort | undefined
  engineProblem: string | null
  onSort: (sort: ItemsSort | undefined) => void
  onStatistics: () => void
  onOnlyFilled: () => void
  onHide: () => void
}

export function FieldHeader({ name, sort, engineProblem, ...act }: FieldHeaderProps) {
  const isSorted = sort?.field === name
  const isMissing = engineProblem !== null
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <button type="button" className={classes.fieldHeader} aria-label={texts.fieldMenuLabel(name)}>
          <span className="ellipsis">{name === '' ? texts.noName : name}</span>
          {isSorted && <i aria-hidden>{sort.descending ? '↓' : '↑'}</i>}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {isMissing && <Menu.Label className={classes.missing}>{engineProblem}</Menu.Label>}
        <Menu.Item
          leftSection={<IconSortAscending size={14} />}
          disabled={isMissing}
          onClick={() => act.onSort({ field: name, descending: false })}
        >
          {texts.sortAscending}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconSortDescending size={14} />}
          disabled={isMissing}
          onClick={() => act.onSort({ field: name, descending: true })}
        >
          {texts.sortDescending}
        </Menu.Item>
        {isSorted && (
          <Menu.Item leftSection={<IconX size={14} />} onClick={() => act.onSort(undefined)}>
            {texts.clearSorting}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconChartBar size={14} />} disabled={isMissing} onClick={act.onStatistics}>
          {texts.statistics}
        </Menu.Item>
        <Menu.Item leftSection={<IconFilterOff size={14} />} onClick={act.onOnlyFilled}>
          {texts.hideItemsWithoutAValue}
        </Menu.Item>
        <Menu.Item leftSection={<IconEyeOff size={14} />} onClick={act.onHide}>
          {texts.hideColumn}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}
