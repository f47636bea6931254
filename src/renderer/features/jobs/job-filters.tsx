import { Group, Tooltip } from '@mantine/core'
import { IconFilter, IconX } from '@tabler/icons-react'
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState, type ReactNode } from 'react'
import classes from './job-filter-box.module.css'
import {
  type FilterContext,
  type FilterSearch,
  formatTerm,
  parseFilterText,
  splitTyped,
  termsOfSearch,
  withoutTerm,
  toggleFacet
} from './job-filter-query.ts'
import type { JobFacets as Facets } from '../../../shared/contract/index.ts'
import { SHOWN_STATUSES, UNKNOWN_STATUS } from '../../../shared/choices.ts'
import { STATUS_LOOK, StatusIcon } from '../../ui/status.tsx'
import facetsClasses from '../../ui/table/facets.module.css'
import { formatCount } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

interface JobFilterBoxProps {
  search: FilterSearch
  nodes: FilterContext['nodes']
  schedules: FilterContext['schedules']
  onChange: (search: FilterSearch) => void
  inputRef: RefObject<HTMLInputElement | null>
}

const TEXT_AFTER_MS = 250

/**
 * Chips for the active filters, and a box to type in. A term becomes a chip on Enter or a following space. Words
 * apply as the user types and stay in the box. Backspace in the empty box turns the last chip back into text.
 */
export function JobFilterBox({ search, nodes, schedules, onChange, inputRef }: JobFilterBoxProps) {
  const [draft, setDraft] = useState(search.text ?? '')
  const [problems, setProblems] = useState<readonly string[]>([])
  const asked = useRef(search.text)
  const later = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(later.current), [])

  // If the URL changes elsewhere (back, a link, Clear), show its text.
  useEffect(() => {
    if (search.text === asked.current) return
    asked.current = search.text
    setDraft(search.text ?? '')
  }, [search.text])

  const commit = (text: string, before: FilterSearch, isWhole: boolean) => {
    const { whole, rest } = isWhole ? { whole: text, rest: '' } : splitTyped(text)
    const parsed = parseFilterText(whole, { nodes, schedules, nowMs: Date.now() })
    const words = isWhole ? (parsed.search.text ?? '') : rest
    clearTimeout(later.current)
    setProblems(parsed.problems)
    setDraft(words)
    const next = { ...before, ...parsed.search, text: undefined as string | undefined }
    const askForWords = () => {
      // A term that the user is still typing (`spider:pri`) is not yet a search word.
      asked.current = parseFilterText(words, { nodes, schedules, nowMs: Date.now() }).search.text
      onChange({ ...next, text: asked.current })
    }
    if (isWhole || whole !== '') askForWords()
    else later.current = setTimeout(askForWords, TEXT_AFTER_MS)
  }

  const terms = termsOfSearch(search, nodes, schedules)
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const last = terms.at(-1)
    if (event.key === 'Enter') commit(draft, search, true)
    else if (event.key === 'Escape') inputRef.current?.blur()
    else if (event.key === 'Backspace' && draft === '' && last !== undefined) {
      setDraft(formatTerm(last))
      onChange(withoutTerm(search, last.key))
      event.preventDefault()
    }
  }

  return (
    <div className="grow">
      <Group gap="4px 6px" className={`${classes.box} faint`} onClick={() => inputRef.current?.focus()}>
        <IconFilter size={14} aria-hidden />
        {terms.map((term) => (
          <Tooltip key={term.key} label={formatTerm(term)}>
            <span className={`${classes.chip} small`}>
              <span className="ellipsis">
                <b>{term.key}</b>:{term.value}
              </span>
              <button
                type="button"
                aria-label={texts.removeFilter(formatTerm(term))}
                onClick={() => onChange(withoutTerm(search, term.key))}
              >
                <IconX size={11} />
              </button>
            </span>
          </Tooltip>
        ))}
        <input
          ref={inputRef}
          value={draft}
          onChange={(event) => commit(event.target.value, search, false)}
          onKeyDown={onKeyDown}
          placeholder={terms.length === 0 ? texts.filterPlaceholder : texts.addFilter}
          aria-label={texts.filterJobs}
          aria-invalid={problems.length > 0}
          spellCheck={false}
          autoComplete="off"
        />
      </Group>
      {problems.length > 0 && (
        <p className={`${classes.problem} tone-bad small`} role="alert">
          {problems.join(' ')}
        </p>
      )}
    </div>
  )
}

interface JobFacetsProps {
  facets: Facets | undefined
  search: FilterSearch
  nodeName: (id: string) => string
  onChange: (search: FilterSearch) => void
}

/** Statuses keep the order of a job's life. Projects and nodes are sorted by count. */
export function JobFacets({ facets, search, nodeName, onChange }: JobFacetsProps) {
  const statusCounts = new Map(facets?.status.map(({ value, count }) => [value, count]))
  const statuses = SHOWN_STATUSES.map((status) => ({
    value: status,
    label: STATUS_LOOK[status].word,
    icon: <StatusIcon status={status} size={13} />,
    count: facets === undefined ? null : (statusCounts.get(status) ?? 0)
    // The status `unknown` is listed only while a job has it or while it is selected.
  })).filter(({ value, count }) => value !== UNKNOWN_STATUS || count || search.status?.includes(value))
  return (
    <>
      <FacetGroup
        title={texts.status}
        options={statuses}
        selected={search.status ?? []}
        onToggle={(value) => onChange(toggleFacet(search, 'status', value))}
      />
      <FacetGroup
        title={texts.project}
        options={(facets?.project ?? []).slice(0, MOST)}
        selected={search.project === undefined ? [] : [search.project]}
        onToggle={(value) => onChange(toggleFacet(search, 'project', value))}
      />
      <FacetGroup
        title={texts.node}
        options={(facets?.nodeId ?? [])
          .slice(0, MOST)
          .map(({ value, count }) => ({ value, label: nodeName(value), count }))}
        selected={search.node === undefined ? [] : [search.node]}
        onToggle={(value) => onChange(toggleFacet(search, 'node', value))}
      />
    </>
  )
}

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

function FacetGroup({ title, options, selected, onToggle }: FacetGroupProps) {
  if (options.length === 0) return null
  return (
    <fieldset className={facetsClasses.group}>
      <legend>{title}</legend>
      {options.map(({ value, label = value, icon, count }) => (
        <button
          key={value}
          type="button"
          className={`${facetsClasses.option} dim`}
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
