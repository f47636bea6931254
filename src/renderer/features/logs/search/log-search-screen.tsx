import { ActionIcon, Button, Flex, Group, NativeSelect, Stack, TextInput, Tooltip } from '@mantine/core'
import { IconLetterCase, IconPlayerStop, IconRegex, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type FormEvent, useMemo, useState, useCallback, useEffect, useRef } from 'react'
import { RECORD_LEVELS } from '../../../../shared/log-record.ts'
import type { FleetLogHit, FleetLogSearchInput, FleetLogSearchProgress } from '../../../../shared/contract/index.ts'
import { explainError } from '../../../api/explain-error.ts'
import { useApi } from '../../../api/api.tsx'
import { LOG_SEARCH_HOURS, type LogSearchSearch } from '../../../state/search.ts'
import { plainText } from '../../../terminal/sanitise.ts'
import { joinFacts, formatBytes, formatCount } from '../../../ui/numbers.ts'
import { LinkButton } from '../../../ui/link-button.tsx'
import { ScreenHead } from '../../../ui/panel.tsx'
import { EmptyState } from '../../../ui/states.tsx'
import { useNodeName } from '../../../ui/use-node-name.ts'
import classes from './log-search.module.css'
import { texts } from '../../../../shared/texts/ui/logs.ts'

const route = getRouteApi('/logs/search')
const HOUR_MS = 3_600_000
const HOURS_WORDS = { 1: texts.lastHour, 24: texts.last24Hours, 168: texts.last7Days, 720: texts.last30Days }

export function LogSearchScreen() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const query = useMemo(() => queryOf(search), [search])
  const state = useFleetSearch(query)
  return (
    <Stack gap={10} className={`${classes.screen} grow`}>
      <ScreenHead title={texts.searchLogs} note={<SearchNote state={state} />}>
        <LinkButton to="/logs" variant="default">
          {texts.openLogs}
        </LinkButton>
      </ScreenHead>
      <SearchForm
        key={JSON.stringify(search)}
        initial={search}
        isSearching={state.isSearching}
        onSearch={(next) => void navigate({ search: next })}
        onStop={state.stop}
      />
      {state.error !== null && (
        <p role="alert" className="tone-bad">
          {explainError(state.error).text}
        </p>
      )}
      <SearchResults state={state} hasQuery={query !== null} onMore={state.goOn} />
    </Stack>
  )
}

function queryOf({
  q,
  regex,
  case: matchesCase,
  project,
  spider,
  node,
  level,
  hours
}: LogSearchSearch): FleetQuery | null {
  if (q === undefined) return null
  return {
    text: q,
    isRegex: regex === true,
    matchesCase: matchesCase === true,
    ...(project !== undefined && { project }),
    ...(spider !== undefined && { spider }),
    ...(node !== undefined && { nodeId: node }),
    ...(level !== undefined && { minLevel: level }),
    ...(hours !== undefined && { sinceMs: Date.now() - hours * HOUR_MS })
  }
}

interface SearchFormProps {
  initial: LogSearchSearch
  isSearching: boolean
  onSearch: (search: LogSearchSearch) => void
  onStop: () => void
}

function SearchForm({ initial, isSearching, onSearch, onStop }: SearchFormProps) {
  const { query } = useApi()
  const { data } = useQuery(query.nodes.list.queryOptions())
  const [draft, setDraft] = useState(initial)
  const set = (patch: LogSearchSearch) => setDraft({ ...draft, ...patch })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch(draft)
  }
  const textOf = (value: string) => (value === '' ? undefined : value)
  return (
    <Flex component="form" direction="column" gap={8} onSubmit={submit} role="search">
      <Group gap={6} wrap="nowrap">
        <TextInput
          flex={1}
          aria-label={texts.searchText}
          placeholder={draft.regex ? texts.regularExpression : texts.textInAnyLog}
          leftSection={<IconSearch size={15} />}
          maxLength={200}
          value={draft.q ?? ''}
          onChange={({ currentTarget }) => set({ q: textOf(currentTarget.value) })}
          autoFocus
        />
        <Toggle label={texts.matchCase} isOn={draft.case === true} onToggle={(on) => set({ case: on || undefined })}>
          <IconLetterCase size={16} />
        </Toggle>
        <Toggle
          label={texts.regularExpression}
          isOn={draft.regex === true}
          onToggle={(on) => set({ regex: on || undefined })}
        >
          <IconRegex size={16} />
        </Toggle>
        {isSearching ? (
          <Button variant="default" leftSection={<IconPlayerStop size={15} />} onClick={onStop}>
            {texts.stop}
          </Button>
        ) : (
          <Button type="submit" variant="filled" disabled={draft.q === undefined}>
            {texts.search}
          </Button>
        )}
      </Group>
      <Group align="stretch" gap={8} className={classes.facets}>
        <TextInput
          aria-label={texts.project}
          placeholder={texts.projectPattern}
          value={draft.project ?? ''}
          onChange={({ currentTarget }) => set({ project: textOf(currentTarget.value) })}
        />
        <TextInput
          aria-label={texts.spider}
          placeholder={texts.spider}
          value={draft.spider ?? ''}
          onChange={({ currentTarget }) => set({ spider: textOf(currentTarget.value) })}
        />
        <NativeSelect
          aria-label={texts.node}
          value={draft.node ?? ''}
          onChange={({ currentTarget }) => set({ node: data?.nodes.find(({ id }) => id === currentTarget.value)?.id })}
          data={[
            { value: '', label: texts.allNodes },
            ...(data?.nodes ?? []).map(({ id, name }) => ({ value: id as string, label: name }))
          ]}
        />
        <NativeSelect
          aria-label={texts.level}
          value={draft.level ?? ''}
          onChange={({ currentTarget }) => set({ level: RECORD_LEVELS.find((one) => one === currentTarget.value) })}
          data={[
            { value: '', label: texts.allLevels },
            ...RECORD_LEVELS.slice(1).map((level) => ({ value: level as string, label: texts.andAbove(level) }))
          ]}
        />
        <NativeSelect
          aria-label={texts.timeRange}
          value={String(draft.hours ?? '')}
          onChange={({ currentTarget }) =>
            set({ hours: LOG_SEARCH_HOURS.find((hours) => String(hours) === currentTarget.value) })
          }
          data={[
            { value: '', label: texts.anyTime },
            ...LOG_SEARCH_HOURS.map((hours) => ({ value: String(hours), label: HOURS_WORDS[hours] }))
          ]}
        />
      </Group>
    </Flex>
  )
}

interface ToggleProps {
  label: string
  isOn: boolean
  onToggle: (isOn: boolean) => void
  children: React.ReactNode
}

function Toggle({ label, isOn, onToggle, children }: ToggleProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        size={32}
        variant={isOn ? 'light' : 'default'}
        aria-label={label}
        aria-pressed={isOn}
        onClick={() => onToggle(!isOn)}
      >
        {children}
      </ActionIcon>
    </Tooltip>
  )
}

function SearchNote({ state: { hits, progress, isSearching } }: { state: FleetSearchState }) {
  if (progress === null) return isSearching ? texts.searching : null
  const { scanned, ruledOut, unreadable, stoppedBy } = progress
  const logs = scanned.logs + ruledOut.logs
  return joinFacts(
    isSearching && texts.searching,
    texts.lineCount(hits.length),
    texts.logsSearched(logs, formatBytes(scanned.bytes)),
    unreadable > 0 && texts.logsUnreadable(unreadable),
    !isSearching && stoppedBy !== 'end' && texts.olderLogsLeft
  )
}

interface SearchResultsProps {
  state: FleetSearchState
  hasQuery: boolean
  onMore: () => void
}

function SearchResults({ state, hasQuery, onMore }: SearchResultsProps) {
  const { hits, progress, isSearching, error } = state
  const nodeName = useNodeName()
  const groups = useMemo(() => groupHits(hits), [hits])
  if (!hasQuery)
    return (
      <EmptyState icon={<IconSearch size={28} />} title={texts.searchAllLogs}>
        {texts.searchOrderHint}
      </EmptyState>
    )
  const isOver = progress !== null && !isSearching
  return (
    <div className={classes.results} aria-busy={isSearching} role="region" aria-label={texts.results}>
      {groups.map((group) => (
        <RunHits key={group.key} group={group} nodeName={nodeName(group.first.nodeId)} />
      ))}
      {isOver && hits.length === 0 && error === null && (
        <EmptyState title={progress.stoppedBy === 'end' ? texts.noMatchingLines : texts.noMatchingLinesYet}>
          {progress.stoppedBy === 'end' ? texts.allLogsSearched : texts.searchLimitReached}
        </EmptyState>
      )}
      {isOver && progress.cursor !== null && (
        <Button variant="default" mt={6} mb={14} onClick={onMore}>
          {texts.searchOlderLogs}
        </Button>
      )}
    </div>
  )
}

/**
 * The number of lines shown per run until the user requests all. A common text can occur on thousands of lines of one
 * log.
 */
const LINES_SHOWN = 10

function RunHits({ group: { first, hits }, nodeName }: { group: HitsOfRun; nodeName: string }) {
  const { jobId, project, spider, time } = first
  const [isOpen, setOpen] = useState(false)
  const shown = isOpen ? hits : hits.slice(0, LINES_SHOWN)
  return (
    <section className={classes.run} aria-label={`${project}/${spider}`}>
      <header>
        <Link to="/jobs" search={{ job: jobId }} className="link">
          {project}/{spider}
        </Link>
        <span className="faint">{joinFacts(nodeName, time?.slice(0, 16) ?? false, texts.lineCount(hits.length))}</span>
      </header>
      <ol>
        {shown.map((hit) => (
          <li key={hit.offset}>
            <Link to="/logs" search={{ jobs: [jobId], job: jobId, line: hit.line } as never} className={classes.hit}>
              <span className={`${classes.line} fixed faint`}>{formatCount(hit.line)}</span>
              <span className={`${classes.level} fixed dim`} data-level={hit.level ?? undefined}>
                {hit.level ?? ''}
              </span>
              <HitText hit={hit} />
            </Link>
          </li>
        ))}
      </ol>
      {shown.length < hits.length && (
        <Button variant="subtle" size="compact-sm" onClick={() => setOpen(true)}>
          {texts.showMoreLines(hits.length - shown.length)}
        </Button>
      )}
    </section>
  )
}

function HitText({ hit: { text, matchAt, matchLength } }: { hit: FleetLogHit }) {
  return (
    <code>
      {plainText(text.slice(0, matchAt))}
      <mark>{plainText(text.slice(matchAt, matchAt + matchLength))}</mark>
      {plainText(text.slice(matchAt + matchLength))}
    </code>
  )
}

interface HitsOfRun {
  key: string
  first: FleetLogHit
  hits: FleetLogHit[]
}

/** Groups the hits by log. The hits of one log arrive consecutively. */
function groupHits(hits: readonly FleetLogHit[]): HitsOfRun[] {
  const groups: HitsOfRun[] = []
  for (const hit of hits) {
    const key = `${hit.jobId} ${hit.attemptNumber}`
    const last = groups.at(-1)
    if (last?.key === key) last.hits.push(hit)
    else groups.push({ key, first: hit, hits: [hit] })
  }
  return groups
}

interface FleetSearchState {
  hits: readonly FleetLogHit[]
  /** null before the first message of the search. */
  progress: FleetLogSearchProgress | null
  isSearching: boolean
  error: unknown
}

type FleetQuery = Omit<FleetLogSearchInput, 'maxSeconds' | 'maxBytes' | 'mostHits' | 'cursor'>

const NOTHING: FleetSearchState = { hits: [], progress: null, isSearching: false, error: null }
const MOST_HITS = 500

/** Searches while the query is not null. A new query or leaving the screen ends the previous search. */
function useFleetSearch(query: FleetQuery | null) {
  const { client } = useApi()
  const [state, setState] = useState<FleetSearchState>(NOTHING)
  const running = useRef<AbortController | null>(null)
  const key = query === null ? null : JSON.stringify(query)

  const start = useCallback(
    async (wanted: FleetQuery, before: FleetSearchState) => {
      running.current?.abort()
      const aborting = new AbortController()
      running.current = aborting
      const { signal } = aborting
      let now: FleetSearchState = { ...before, isSearching: true, error: null }
      const show = (next: Partial<FleetSearchState>) => {
        now = { ...now, ...next }
        if (running.current === aborting) setState(now)
      }
      show({})
      try {
        const cursor = before.progress?.cursor ?? undefined
        const messages = await client.logs.searchAll({ ...wanted, mostHits: MOST_HITS, cursor }, { signal })
        for await (const progress of messages) show({ hits: [...now.hits, ...progress.hits], progress })
        show({ isSearching: false })
      } catch (error) {
        show(signal.aborted ? { isSearching: false } : { isSearching: false, error })
      }
    },
    [client]
  )

  useEffect(() => {
    if (key === null) setState(NOTHING)
    else void start(JSON.parse(key) as FleetQuery, NOTHING)
    return () => {
      running.current?.abort()
      running.current = null
    }
  }, [key, start])

  return {
    ...state,
    stop: () => running.current?.abort(),
    goOn: () => query !== null && void start(query, state)
  }
}
