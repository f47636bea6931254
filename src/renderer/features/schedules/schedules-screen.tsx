import { Button } from '@mantine/core'
import { IconCalendarTime, IconPlus } from '@tabler/icons-react'
import { keepPreviousData, skipToken, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import type { Schedule } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import { useMay } from '../../api/use-me.ts'
import type { SchedulesSearch } from '../../state/search.ts'
import { joinFacts } from '../../ui/numbers.ts'
import { ListScreen, usePages } from '../../ui/list-screen.tsx'
import { DetailPane } from '../../ui/panel.tsx'
import { EmptyState, NoMatch } from '../../ui/states.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { ScheduleEditor } from './editor/schedule-editor.tsx'
import { scheduleColumns } from './schedule-columns.tsx'
import { ScheduleDetail } from './detail/schedule-detail.tsx'
import { missedLately, jobsOf } from './schedule-words.ts'
import { SchedulesTabs } from './schedules-tabs.tsx'
import { useScheduleActions } from './use-schedule-actions.tsx'
import { MarksBar } from '../../ui/marks-bar.tsx'
import { RemoveDialog } from './schedule-dialogs.tsx'
import { texts } from '../../../shared/texts/ui/schedules.ts'

const route = getRouteApi('/schedules')
const PAGE_ROWS = 100

export function SchedulesScreen() {
  const { edit } = route.useSearch()
  const navigate = route.useNavigate()
  const leave = (saved: Schedule | null) =>
    void navigate({ search: (old) => ({ ...old, edit: undefined, schedule: saved?.id ?? old.schedule }) })
  if (edit !== undefined) return <ScheduleEditor key={edit} id={edit === 'new' ? null : edit} onDone={leave} />
  return <ScheduleList />
}

function ScheduleList() {
  const { query } = useApi()
  const { schedule: openId, text, project } = route.useSearch()
  const navigate = route.useNavigate()
  const setSearch = (patch: SchedulesSearch, replace = false) =>
    void navigate({ search: (old) => ({ ...old, ...patch }), replace })
  const [typed, setTyped] = useTyped(text, (next) => setSearch({ text: next }, true))
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set())
  const actions = useScheduleActions()

  const list = useInfiniteQuery(
    query.schedules.list.infiniteOptions({
      input: (after: string | undefined) => ({ ...scheduleFilterOf(text), project, after, limit: PAGE_ROWS }),
      initialPageParam: undefined,
      getNextPageParam: ({ nextAfter }) => nextAfter ?? undefined,
      placeholderData: keepPreviousData
    })
  )
  const { rows, loadMore } = usePages(list, 'schedules')
  const total = list.data?.pages[0]?.total ?? 0
  // A link can lead to a schedule on a later page, or one that the filter excludes.
  const row = rows.find(({ id }) => id === openId)
  const isElsewhere = openId !== undefined && row === undefined && list.data !== undefined
  const linked = useQuery(
    query.schedules.get.queryOptions({ input: isElsewhere ? { id: openId } : skipToken, retry: false })
  )
  const opened = row ?? (isElsewhere ? linked.data : undefined)
  const marked = rows.filter(({ id }) => marks.has(id))

  const open = (schedule: Schedule | null) => setSearch({ schedule: schedule?.id }, openId !== undefined)
  const edit = (id: string) => setSearch({ edit: id })
  const pause = useRef(actions.setPaused)
  pause.current = actions.setPaused
  const { may } = useMay('schedules.change')
  const columns = useMemo(
    () => scheduleColumns(may ? (schedule, paused) => void pause.current([schedule], paused) : null),
    [may]
  )
  const clear = () => {
    setTyped('')
    setSearch({ text: undefined, project: undefined }, true)
  }
  const isFiltered = text !== undefined || project !== undefined
  return (
    <>
      <ListScreen
        title={texts.schedules}
        views={<SchedulesTabs />}
        note={list.data && countWords(rows, total)}
        filterBox={{
          label: texts.filterSchedules,
          placeholder: texts.filterPlaceholder,
          value: typed,
          onChange: setTyped,
          onClear: clear
        }}
        actions={may && <NewButton onNew={() => edit('new')} />}
        keys={[
          ...(may
            ? [
                { key: 'n', label: texts.newSchedule, run: () => edit('new') },
                { key: 'e', label: texts.editSchedule, run: () => opened && edit(opened.id) },
                {
                  key: 'p',
                  label: texts.pauseOrResumeSchedule,
                  run: () => opened && void actions.setPaused([opened], !opened.paused)
                }
              ]
            : []),
          {
            key: 'Escape',
            label: texts.clearSelectionAndDetails,
            run: () => (marks.size > 0 ? setMarks(new Set()) : open(null))
          }
        ]}
        query={list}
        what={texts.theSchedules}
        table={{
          rows,
          rowId: idOf,
          columns,
          openId,
          onOpen: open,
          marks,
          onMarks: setMarks,
          onEndReached: loadMore,
          empty: isFiltered ? (
            <NoMatch title={texts.noMatch([project, text].filter(Boolean).join(' '))} onClear={clear} />
          ) : (
            <FirstSchedule onNew={() => edit('new')} />
          )
        }}
        pane={
          <>
            {opened && (
              <ScheduleDetail
                key={opened.id}
                schedule={opened}
                actions={actions}
                onEdit={() => edit(opened.id)}
                onClose={() => open(null)}
              />
            )}
            {isElsewhere && linked.isError && (
              <DetailPane label={texts.schedule}>
                <EmptyState
                  title={texts.scheduleGone}
                  action={<Button onClick={() => open(null)}>{texts.close}</Button>}
                >
                  {explainError(linked.error).text}
                </EmptyState>
              </DetailPane>
            )}
          </>
        }
      />
      {marked.length > 0 && <SchedulesBar marked={marked} actions={actions} onClear={() => setMarks(new Set())} />}
    </>
  )
}

const NewButton = ({ onNew }: { onNew: () => void }) => (
  <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={onNew}>
    {texts.newSchedule}
  </Button>
)

const idOf = ({ id }: Schedule) => id

/** Parses search words and a user: `prices user:ann`, `user:"Ann B"`. */
export function scheduleFilterOf(text = ''): { text?: string; userId?: string } {
  const [term, quoted, bare] = /(?:^|\s)user:(?:"([^"]+)"|([^\s"]+))(?=\s|$)/.exec(text) ?? []
  const words = term === undefined ? text : text.replace(term, ' ').trim()
  const userId = quoted ?? bare
  return { ...(words !== '' && { text: words }), ...(userId !== undefined && { userId }) }
}

function FirstSchedule({ onNew }: { onNew: () => void }) {
  const { may } = useMay('schedules.change')
  return (
    <EmptyState
      icon={<IconCalendarTime size={32} stroke={1.3} />}
      title={texts.noSchedulesYet}
      action={may && <NewButton onNew={onNew} />}
    >
      {texts.noSchedulesHint}
    </EmptyState>
  )
}

/** `46 on · 3 paused · 1 with missed runs` if all are loaded, otherwise only the total. */
function countWords(rows: readonly Schedule[], total: number): string {
  if (total === 0) return texts.none
  if (rows.length < total) return texts.scheduleCount(total)
  const paused = rows.filter((schedule) => schedule.paused).length
  const missed = rows.filter((schedule) => missedLately(schedule) > 0).length
  return joinFacts(
    texts.onCount(total - paused),
    paused > 0 && texts.pausedCount(paused),
    missed > 0 && texts.withMissedRuns(missed)
  )
}

interface SchedulesBarProps {
  marked: readonly Schedule[]
  actions: ReturnType<typeof useScheduleActions>
  onClear: () => void
}

function SchedulesBar({ marked, actions, onClear }: SchedulesBarProps) {
  const { may } = useMay('schedules.change')
  const mayRun = useMay('jobs.run').may
  const [removing, setRemoving] = useState(false)
  const on = marked.filter(({ paused }) => !paused)
  const paused = marked.filter((schedule) => schedule.paused)
  const jobs = marked.reduce((sum, schedule) => sum + jobsOf(schedule.jobs), 0)
  return (
    <MarksBar label={texts.selectedSchedules} selected={texts.schedulesSelected(marked.length)} onClear={onClear}>
      {may && on.length > 0 && (
        <Button onClick={() => void actions.setPaused(on, true)}>{texts.pauseCount(on.length)}</Button>
      )}
      {may && paused.length > 0 && (
        <Button onClick={() => void actions.setPaused(paused, false)}>{texts.resumeCount(paused.length)}</Button>
      )}
      {mayRun && (
        <Button loading={actions.isRunning} onClick={() => actions.runNow(marked)}>
          {texts.runNowJobs(jobs)}
        </Button>
      )}
      {may && (
        <Button color="red" variant="light" onClick={() => setRemoving(true)}>
          {texts.removeItem}
        </Button>
      )}
      {removing && <RemoveDialog schedules={marked} actions={actions} onClose={() => setRemoving(false)} />}
    </MarksBar>
  )
}
