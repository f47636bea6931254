import { Flex, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ItemColumn, ItemsDiff, Job, JobId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import type { ItemsOf } from '../../ui/items/items-facts.ts'
import { formatCount } from '../../ui/numbers.ts'
import { PaneHead, DetailPane } from '../../ui/panel.tsx'
import { EmptyState, QueryState, RowsSkeleton } from '../../ui/states.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { formatInstant } from '../../ui/time.tsx'
import classes from './items-screen.module.css'
import { texts } from '../../../shared/texts/ui/items.ts'

/** The value of the select for comparing whole items. It cannot be a field name. */
const WHOLE = '\0'
/** Names of fields that are usually keys. */
const LIKELY_KEYS = ['url', 'id', 'sku', 'isbn', 'link', 'name', 'title']

interface ComparePaneProps {
  job: Job
  of: ItemsOf
  columns: readonly ItemColumn[]
  onClose: () => void
}

export function ComparePane({ job, of, columns, onClose }: ComparePaneProps) {
  const { query } = useApi()
  const runs = useQuery(
    query.jobs.list.queryOptions({ input: { project: job.project, spider: job.spider, limit: 50 } })
  )
  const others = (runs.data?.jobs ?? []).filter(
    ({ id, project, spider, startedAtMs }) =>
      id !== job.id && project === job.project && spider === job.spider && startedAtMs !== null
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const [key, setKey] = useState<string>(
    () => LIKELY_KEYS.find((name) => columns.some((column) => column.name.toLowerCase() === name)) ?? WHOLE
  )
  // `others` has the newest run first, so the first older one is the previous run.
  const before = (chosen ?? (others.find(({ id }) => id < job.id) ?? others[0])?.id ?? null) as JobId | null
  return (
    <DetailPane label={texts.comparison}>
      <PaneHead what={texts.theComparison} onClose={onClose}>
        <h2>{texts.compareRuns}</h2>
      </PaneHead>
      {runs.data === undefined ? (
        <RowsSkeleton rows={4} />
      ) : before === null ? (
        <EmptyState title={texts.noRunToCompare}>{texts.noOtherRuns}</EmptyState>
      ) : (
        <>
          <Stack gap={8}>
            <Select
              label={texts.compareWith}
              allowDeselect={false}
              data={others.map(({ id, startedAtMs }) => ({ value: id, label: formatInstant(startedAtMs!) }))}
              value={before}
              onChange={setChosen}
            />
            <Select
              label={texts.matchItemsBy}
              allowDeselect={false}
              searchable
              data={[
                { value: WHOLE, label: texts.wholeContent },
                ...columns.map(({ name }) => name).filter((name) => name !== '' && name !== WHOLE)
              ]}
              value={key}
              onChange={(next) => next !== null && setKey(next)}
            />
          </Stack>
          <Comparison of={of} before={before} itemKey={key === WHOLE ? undefined : key} />
        </>
      )}
    </DetailPane>
  )
}

function Comparison({ of, before, itemKey }: { of: ItemsOf; before: JobId; itemKey: string | undefined }) {
  const { query } = useApi()
  const input = { ...of, before, ...(itemKey !== undefined && { key: itemKey }) }
  const diff = useQuery(query.items.diff.queryOptions({ input, retry: false }))
  return (
    <QueryState query={diff} what={texts.theComparison}>
      {(data) => <Result diff={data} />}
    </QueryState>
  )
}

function Result({ diff }: { diff: ItemsDiff }) {
  const { added, removed, changed, same, repeatedKeys, examples } = diff
  const counts: [string, number | null, string[]][] = [
    [texts.added, added, examples.added],
    [texts.removed, removed, examples.removed],
    [texts.changed, changed, examples.changed],
    [texts.same, same, []]
  ]
  return (
    <>
      <dl className="figures">
        {counts.map(
          ([label, count]) =>
            count !== null && (
              <div key={label} className="box">
                <dt>{label}</dt>
                <dd>{formatCount(count)}</dd>
              </div>
            )
        )}
      </dl>
      <p className="dim small">
        {texts.itemsBeforeAndNow(diff.before.items, diff.after.items)}
        {repeatedKeys !== null && repeatedKeys > 0 && ` ${texts.notCompared(repeatedKeys)}`}
      </p>
      <table className={classes.fields}>
        <thead>
          <tr>
            <th scope="col">{texts.itemsWithAValue}</th>
            <th scope="col">{texts.before}</th>
            <th scope="col">{texts.now}</th>
          </tr>
        </thead>
        <tbody>
          {diff.fields.map(({ name, before, after }) => {
            const shares = [shareOf(before, diff.before.items), shareOf(after, diff.after.items)] as const
            return (
              <tr key={name} data-changed={shares[0] !== shares[1] || undefined}>
                <th scope="row">{name === '' ? texts.noName : name}</th>
                <td>{before === null ? texts.missingField : shares[0]}</td>
                <td>{after === null ? texts.missingField : before === null ? texts.newField(shares[1]) : shares[1]}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
      {counts.map(
        ([label, , items]) =>
          items.length > 0 && (
            <div key={label}>
              <h3 className={`${classes.subtitle} dim small`}>{texts.examples(label)}</h3>
              <Flex component="ul" direction="column" gap={3} className="break small">
                {items.map((item) => (
                  <li key={item}>{item}</li>
                ))}
              </Flex>
            </div>
          )
      )}
    </>
  )
}

const shareOf = (filled: number | null, items: number): string =>
  filled === null || items === 0 ? '–' : `${Math.round((1000 * filled) / items) / 10} %`
