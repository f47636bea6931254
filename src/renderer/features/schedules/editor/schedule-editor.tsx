import { Button, Select, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { listZones, occurrencesOf } from '../../../../shared/calendar/index.ts'
import type { Schedule, ScheduleTiming } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { explainError } from '../../../api/explain-error.ts'
import { useKeys } from '../../../state/keys.ts'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import { LeaveGuard } from '../../../ui/leave-guard.tsx'
import { Kbd, modKey } from '../../../ui/kbd.tsx'
import { notifyDone } from '../../../ui/notify.tsx'
import { plural } from '../../../ui/numbers.ts'
import { Panel, ScreenHead } from '../../../ui/panel.tsx'
import { QueryState } from '../../../ui/states.tsx'
import { clockChangesOf } from '../clock-changes.ts'
import { NextRuns } from '../next-runs.tsx'
import { jobsOf, timingWords } from '../schedule-words.ts'
import { localZone } from '../zoned-time.ts'
import classes from './editor.module.css'
import { LoadHint } from './load-hint.tsx'
import { PolicyFields } from './policy-fields.tsx'
import { RuleList } from './rule-list.tsx'
import {
  copyOf,
  emptyForm,
  formOf,
  readSchedule,
  readTemplate,
  readTiming,
  rulePatch,
  type ScheduleForm
} from './schedule-form.ts'
import { TemplateList } from './template-fields.tsx'

const NEXT_SHOWN = 10
const route = getRouteApi('/schedules')

interface ScheduleEditorProps {
  /** null: a new one; like the one that is open, if one is. */
  id: string | null
  /** null: nothing was saved. */
  onDone: (saved: Schedule | null) => void
}

/** A schedule as a whole screen: when, what and by which rules at the left; what comes of it at the right, at each key. */
export function ScheduleEditor({ id, onDone }: ScheduleEditorProps) {
  const { query } = useApi()
  const { schedule: likeId, project } = route.useSearch()
  const sourceId = id ?? likeId
  const source = useQuery({
    ...query.schedules.get.queryOptions({ input: { id: sourceId ?? '' } }),
    enabled: sourceId !== undefined
  })
  if (sourceId === undefined)
    return (
      <EditorForm
        start={() => emptyForm(Date.now(), project === undefined ? {} : { project })}
        saved={null}
        onDone={onDone}
      />
    )
  return (
    <QueryState query={source} what="the schedule">
      {(schedule) => (
        <EditorForm
          start={() => (id === null ? copyOf(schedule, Date.now()) : formOf(schedule, Date.now()))}
          saved={id === null ? null : schedule}
          onDone={onDone}
        />
      )}
    </QueryState>
  )
}

function EditorForm({
  start,
  saved,
  onDone
}: {
  start: () => ScheduleForm
  saved: Schedule | null
  onDone: (saved: Schedule | null) => void
}) {
  const { client } = useApi()
  const [form, setForm] = useState(start)
  const begun = useRef(form)
  const [revision, setRevision] = useState(saved?.revision)
  const [isSaving, setSaving] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const isLeaving = useRef(false)
  const read = useMemo(() => readSchedule(form), [form])
  // The lists at the right may come a moment after the keys.
  const timing = useDeferredValue(useMemo(() => readTiming(form), [form]))
  const zones = useMemo(() => zoneChoices(form.zone), [form.zone])
  const isChanged = form !== begun.current
  const leave = (schedule: Schedule | null) => {
    isLeaving.current = true
    onDone(schedule)
  }
  const change = (patch: Partial<ScheduleForm>) => {
    setError(null)
    setForm((before) => ({ ...before, ...patch }))
  }
  const spread = (next: ScheduleTiming) =>
    change({
      rules: form.rules.map((rule, index) => {
        const moved = next.rules[index]
        return moved === undefined ? rule : { ...rule, ...rulePatch(moved, form.zone) }
      })
    })
  const save = async () => {
    if ('problem' in read || isSaving) return
    setSaving(true)
    setError(null)
    try {
      const { schedule } =
        saved === null
          ? await client.schedules.create(read.settings)
          : await client.schedules.update({ ...read.settings, id: saved.id, revision })
      notifyDone(saved === null ? `${schedule.name} is on.` : `${schedule.name} is saved.`)
      leave(schedule)
    } catch (failure) {
      setError(failure)
    } finally {
      setSaving(false)
    }
  }
  useKeys('Editor', [
    { key: 'mod+s', label: 'Save', run: () => void save() },
    { key: 'Escape', label: 'Leave without saving', run: () => !isChanged && leave(null) }
  ])
  const isChangedMeanwhile = error !== null && explainError(error).code === 'CHANGED_MEANWHILE'
  return (
    <form
      className={classes.editor}
      aria-label={saved === null ? 'New schedule' : `Edit ${saved.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        void save()
      }}
    >
      <LeaveGuard unsaved={isChanged ? unsavedWords(saved) : null} isLeaving={isLeaving} />
      <div className={classes.head}>
        <ScreenHead
          title={saved === null ? 'New schedule' : form.name.trim() || saved.name}
          note={saved?.paused ? 'paused' : undefined}
        >
          <span className={classes.missing} role="status">
            {'problem' in read ? read.problem : ''}
          </span>
          <Button onClick={() => leave(null)}>{isChanged ? 'Discard' : 'Close'}</Button>
          <Button
            type="submit"
            variant="filled"
            loading={isSaving}
            disabled={'problem' in read || (!isChanged && saved !== null)}
            rightSection={<Kbd>{modKey('S')}</Kbd>}
          >
            {saved === null ? 'Create' : 'Save'}
          </Button>
        </ScreenHead>
        <FormFailure error={error} />
        {isChangedMeanwhile && saved !== null && (
          <div className={classes.meanwhile}>
            <Button onClick={() => setForm(formOf(saved, Date.now()))}>Take theirs</Button>
            <Button
              onClick={() => {
                setRevision(undefined)
                setError(null)
              }}
            >
              Keep mine: save over it
            </Button>
          </div>
        )}
      </div>
      <div className={classes.columns}>
        <div className={classes.column}>
          <Panel title="When">
            <div className={classes.top}>
              <TextInput
                label="Name"
                placeholder="nightly prices"
                value={form.name}
                maxLength={200}
                autoFocus={saved === null}
                onChange={(event) => change({ name: event.currentTarget.value })}
              />
              <Select
                label="Time zone"
                data={zones}
                value={form.zone}
                searchable
                allowDeselect={false}
                limit={60}
                nothingFoundMessage="No zone has this name"
                onChange={(zone) => zone !== null && change({ zone })}
              />
            </div>
            <RuleList rules={form.rules} zone={form.zone} onChange={(rules) => change({ rules })} />
          </Panel>
          <Panel title="What">
            <TemplateList templates={form.jobs} onChange={(jobs) => change({ jobs })} />
          </Panel>
          <Panel title="Rules">
            <PolicyFields form={form} onChange={change} />
          </Panel>
        </div>
        <div className={classes.column} data-sticky>
          <Outcome form={form} timing={timing} saved={saved} onSpread={spread} />
        </div>
      </div>
    </form>
  )
}

/** What comes of it: words, the next runs, clock changes, neighbours. */
function Outcome({
  form,
  timing,
  saved,
  onSpread
}: {
  form: ScheduleForm
  timing: ReturnType<typeof readTiming>
  saved: Schedule | null
  onSpread: (timing: ScheduleTiming) => void
}) {
  const lists = useMemo(() => {
    if ('problem' in timing) return null
    const nowMs = Date.now()
    return {
      occurrences: occurrencesOf(timing, { afterMs: nowMs, limit: NEXT_SHOWN }),
      changes: clockChangesOf(timing, nowMs)
    }
  }, [timing])
  const templates = form.jobs.map((each) => readTemplate(each)).flatMap((each) => ('problem' in each ? [] : [each]))
  const jobs = jobsOf(templates)
  return (
    <Panel title="Next runs" note={jobs > 0 ? `${plural(jobs, 'job')} each` : undefined}>
      {'problem' in timing || lists === null ? (
        <p className="tone-bad" role="alert">
          {'problem' in timing ? timing.problem : ''}
        </p>
      ) : lists.occurrences.length === 0 ? (
        <p className="tone-wait">It would not fire any more: every moment that it means is past.</p>
      ) : (
        <>
          <p className={classes.said}>{timingWords(timing)}</p>
          <NextRuns occurrences={lists.occurrences} zone={timing.zone} changes={lists.changes} />
          <LoadHint
            timing={timing}
            jobs={Math.max(1, jobs)}
            saved={saved?.paused === false ? saved : null}
            savedJobs={saved === null ? 0 : jobsOf(saved.jobs)}
            onSpread={onSpread}
          />
        </>
      )}
    </Panel>
  )
}

function unsavedWords(saved: Schedule | null): string {
  return saved === null ? 'The new schedule is not saved yet.' : `What you changed of ${saved.name} is not saved yet.`
}

/** This machine's zone and UTC first, then all others. */
function zoneChoices(chosen: string): string[] {
  const here = localZone()
  return [...new Set([chosen, here, 'UTC', ...listZones()])]
}
