import type { JobFacets as Facets } from '../../../shared/contract/index.ts'
import { SHOWN_STATUSES, UNKNOWN_STATUS } from '../../../shared/choices.ts'
import { StatusIcon } from '../../ui/status.tsx'
import { type FilterSearch, toggleFacet } from './job-filter-query.ts'
import type { ReactNode } from 'react'
import classes from '../../ui/table/facets.module.css'
import { formatCount } from '../../ui/numbers.ts'

interface JobFacetsProps {
  facets: Facets | undefined
  search: FilterSearch
  nodeName: (id: string) => string
  onChange: (search: FilterSearch) => void
}

/** Statuses keep the order of a job's life; projects and nodes are sorted by count. */
export function JobFacets({ facets, search, nodeName, onChange }: JobFacetsProps) {
  const statusCounts = new Map(facets?.status.map(({ value, count }) => [value, count]))
  const statuses = SHOWN_STATUSES.map((status) => ({
    value: status,
    icon: <StatusIcon status={status} size={13} />,
    count: facets === undefined ? null : (statusCounts.get(status) ?? 0)
    // A word for trouble is there while there is any, or while it is chosen.
  })).filter(({ value, count }) => value !== UNKNOWN_STATUS || count || search.status?.includes(value))
  return (
    <>
      <FacetGroup
        title="Status"
        options={statuses}
        selected={search.status ?? []}
        onToggle={(value) => onChange(toggleFacet(search, 'status', value))}
      />
      <FacetGroup
        title="Project"
        options={(facets?.project ?? []).slice(0, MOST)}
        selected={search.project === undefined ? [] : [search.project]}
        onToggle={(value) => onChange(toggleFacet(search, 'project', value))}
      />
      <FacetGroup
        title="Node"
        options={(facets?.nodeId ?? [])
          .slice(0, MOST)
          .map(({ value, count }) => ({ value, label: nodeName(value), count }))}
        selected={search.node === undefined ? [] : [search.node]}
        onToggle={(value) => onChange(toggleFacet(search, 'node', value))}
      />
    </>
  )
}

/** Values beyond these are found by typing. */
const MOST = 20

interface FacetOption {
  value: string
  label?: ReactNode
  icon?: ReactNode
  count: number | null
}

interface FacetGroupProps {
  title: string
  options: readonly FacetOption[]
  selected: readonly string[]
  onToggle: (value: string) => void
}

/** One group of a list's filters, with counts. A click adds or removes the value. */
function FacetGroup({ title, options, selected, onToggle }: FacetGroupProps) {
  if (options.length === 0) return null
  return (
    <fieldset className={classes.group}>
      <legend>{title}</legend>
      {options.map(({ value, label = value, icon, count }) => (
        <button
          key={value}
          type="button"
          className={classes.option}
          aria-pressed={selected.includes(value)}
          onClick={() => onToggle(value)}
        >
          {icon}
          <span className="ellipsis">{label}</span>
          {count !== null && <b>{formatCount(count)}</b>}
        </button>
      ))}
    </fieldset>
  )
}
