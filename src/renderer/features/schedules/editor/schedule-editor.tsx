import { Button, Flex, Stack, TextInput } from '@mantine/core'
import { useQuery, keepPreviousData } from '@tanstack/react-query'
import { getRouteApi, useBlocker } from '@tanstack/react-router'
import { useDeferredValue, useMemo, useRef, useState, type RefObject } from 'react'
import { occurrencesToShow, problemOfTiming } from '../../../../shared/calendar/index.ts'
import type { Schedule, ScheduleSettings, ScheduleTiming } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'
import { explainError } from '../../../api/explain-error.ts'
import { useKeys } from '../../../state/keys.ts'
import { FormFailure } from '../../../ui/fields/form-failure.tsx'
import { useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { SchemaForm } from '../../../ui/fields/schema-form.tsx'
import { Kbd, modKey } from '../../../ui/kbd.tsx'
import { notifyDone } from '../../../ui/notify.tsx'
import { Panel, ScreenHead } from '../../../ui/panel.tsx'
import { QueryState } from '../../../ui/states.tsx'
import { clockChangesOf } from '../clock-changes.ts'
import { NextRuns } from '../next-runs.tsx'
import { jobsOf, timingWords } from '../schedule-words.ts'
import { ZoneSelect } from '../../../ui/fields/select.tsx'
import classes from './editor.module.css'
import { PolicyFields } from './policy-fields.tsx'
import { RuleList } from './rule-list.tsx'
import {
  copyOf,
  emptyForm,
  formOf,
  rulePatch,
  ScheduleForm,
  type ScheduleTexts,
  templateForm,
  TimingForm
} from './schedule-form.ts'
import { TemplateList } from './template-fields.tsx'
import { IconAlertTriangle } from '@tabler/icons-react'
import { shiftRule } from '../load/spread.ts'
import { formatMoment } from '../zoned-time.ts'
import { ConfirmDialog } from '../../../ui/confirm-dialog.tsx'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const NEXT_SHOWN = 10
const route = getRouteApi('/schedules')

interface ScheduleEditorProps {
  /** null: a new schedule, copied from the open schedule if there is one. */
  id: string | null
  onDone: (saved: Schedule | null) => void
}

/** A full-screen editor: timing, jobs and policies on the left, the resulting runs on the right. */
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
    <QueryState query={source} what={texts.theSchedule}>
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

interface EditorFormProps {
  start: () => ScheduleTexts
  saved: Schedule | null
  onDone: (saved: Schedule | null) => void
}

function EditorForm({ start, saved, onDone }: EditorFormProps) {
  const { client } = useApi()
  const [revision, setRevision] = useState(saved?.revision)
  const isLeaving = useRef(false)
  const leave = (schedule: Schedule | null) => {
    isLeaving.current = true
    onDone(schedule)
  }
  const form = useFormOf<ScheduleTexts, ScheduleSettings>({
    schema: ScheduleForm,
    start,
    save: async (settings) => {
      const { schedule } =
        saved === null
          ? await client.schedules.create(settings)
          : await client.schedules.update({ ...settings, id: saved.id, revision })
      notifyDone(saved === null ? texts.created(schedule.name) : texts.saved(schedule.name))
      leave(schedule)
    }
  })
  const { values, isDirty } = form
  // The lists on the right can lag behind typing.
  const timing = useDeferredValue(useMemo(() => TimingForm.safeParse(values), [values]))
  const spread = (next: ScheduleTiming) =>
    form.change({
      rules: values.rules.map((rule, index) => {
        const moved = next.rules[index]
        return moved === undefined ? rule : { ...rule, ...rulePatch(moved, values.zone) }
      })
    })
  useKeys(texts.editor, [
    { key: 'mod+s', label: texts.save, run: () => form.submit() },
    { key: 'Escape', label: texts.leaveWithoutSaving, run: () => !isDirty && leave(null) }
  ])
  const isChangedMeanwhile = form.failure !== null && explainError(form.failure).code === 'CHANGED_MEANWHILE'
  return (
    <SchemaForm
      form={form}
      className="column grow"
      label={saved === null ? texts.newSchedule : texts.editNamed(saved.name)}
    >
      <LeaveGuard unsaved={isDirty ? unsavedWords(saved) : null} isLeaving={isLeaving} />
      <Stack gap={8} className={classes.head}>
        <ScreenHead
          title={saved === null ? texts.newSchedule : values.name.trim() || saved.name}
          note={saved?.paused ? texts.pausedState : undefined}
        >
          <span className={`${classes.missing} dim`} role="status">
            {form.isRefused ? texts.correctMarkedFields : ''}
          </span>
          <Flex component="span" gap={8}>
            <Button onClick={() => leave(null)}>{isDirty ? texts.discardChanges : texts.close}</Button>
            <Button
              type="submit"
              variant="filled"
              loading={form.isSaving}
              disabled={!isDirty && saved !== null}
              rightSection={<Kbd>{modKey('S')}</Kbd>}
            >
              {saved === null ? texts.createSchedule : texts.saveSchedule}
            </Button>
          </Flex>
        </ScreenHead>
        <FormFailure error={form.failure} />
        {isChangedMeanwhile && saved !== null && (
          <Flex gap={8}>
            <Button onClick={() => form.change(formOf(saved, Date.now()))}>{texts.loadCurrent}</Button>
            <Button
              onClick={() => {
                setRevision(undefined)
                form.clearFailure()
              }}
            >
              {texts.overwrite}
            </Button>
          </Flex>
        )}
      </Stack>
      <div className={classes.columns}>
        <Stack gap={12} miw={0} className={classes.column}>
          <Panel title={texts.when}>
            <div className={classes.top}>
              <TextInput
                {...form.input('name')}
                label={texts.name}
                placeholder={texts.nameExample}
                maxLength={200}
                autoFocus={saved === null}
              />
              <ZoneSelect {...form.input('zone')} label={texts.timeZone} />
            </div>
            <RuleList fields={form} />
          </Panel>
          <Panel title={texts.what}>
            <TemplateList fields={form} />
          </Panel>
          <Panel title={texts.rules}>
            <PolicyFields fields={form} />
          </Panel>
        </Stack>
        <Stack gap={12} miw={0} className={classes.column} data-sticky>
          <Outcome form={values} timing={timing} saved={saved} onSpread={spread} />
        </Stack>
      </div>
    </SchemaForm>
  )
}

interface OutcomeProps {
  form: ScheduleTexts
  timing: ReturnType<typeof TimingForm.safeParse>
  saved: Schedule | null
  onSpread: (timing: ScheduleTiming) => void
}

function Outcome({ form, timing: read, saved, onSpread }: OutcomeProps) {
  const timing = read.success ? read.data : null
  const lists = useMemo(() => {
    if (timing === null) return null
    const nowMs = Date.now()
    return {
      occurrences: occurrencesToShow(timing, { afterMs: nowMs, limit: NEXT_SHOWN }),
      changes: clockChangesOf(timing, nowMs)
    }
  }, [timing])
  const templates = form.jobs.flatMap((each) => templateForm('schedule').safeParse(each).data ?? [])
  const jobs = jobsOf(templates)
  return (
    <Panel title={texts.nextRuns} note={jobs > 0 ? texts.jobsPerRun(jobs) : undefined}>
      {timing === null || lists === null ? (
        <p className="tone-bad" role="alert">
          {problemOf(read, form.rules.length)}
        </p>
      ) : lists.occurrences.length === 0 ? (
        <p className="tone-wait">{texts.neverRuns}</p>
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

function problemOf({ error }: ReturnType<typeof TimingForm.safeParse>, ruleCount: number): string {
  const [first] = error?.issues ?? []
  const [, index] = first?.path ?? []
  const problem = first?.message ?? ''
  return ruleCount > 1 && typeof index === 'number' ? texts.problemOfRule(index + 1, problem) : problem
}

function unsavedWords(saved: Schedule | null): string {
  return saved === null ? texts.newNotSaved : texts.changesNotSaved(saved.name)
}

const MINUTE_MS = 60_000
const SPREAD_MINUTES = 30
/**
 * If at least this many other schedules fire in the same minute, another minute is suggested, even if there are enough
 * slots, because all these schedules start together.
 */
const MANY = 5

interface LoadHintProps {
  timing: ScheduleTiming
  jobs: number
  /** The saved version, which must not count as another schedule. null: the schedule is new or paused. */
  saved: ScheduleTiming | null
  savedJobs: number
  onSpread: (timing: ScheduleTiming) => void
}

/** Compares the schedules that fire in the next run's minute with the slots, and suggests a quieter minute nearby. */
function LoadHint({ timing, jobs, saved, savedJobs, onSpread }: LoadHintProps) {
  const { query } = useApi()
  const nextMs = occurrencesToShow(timing, { afterMs: Date.now(), limit: 1 })[0]?.nominalMs ?? null
  const fromMs = Math.floor((nextMs ?? 0) / MINUTE_MS) * MINUTE_MS
  const untilMs = fromMs + SPREAD_MINUTES * MINUTE_MS
  const { data } = useQuery(
    query.schedules.load.queryOptions({
      input: { fromMs, untilMs },
      enabled: nextMs !== null,
      placeholderData: keepPreviousData,
      staleTime: 10_000
    })
  )
  if (data === undefined || nextMs === null) return null
  const own = new Set(
    saved === null
      ? []
      : occurrencesToShow(saved, { afterMs: fromMs - 1, untilMs, limit: 100 }).map(
          ({ nominalMs }) => Math.floor(nominalMs / MINUTE_MS) * MINUTE_MS
        )
  )
  const at = (atMs: number) => {
    const minute = data.minutes.find((each) => each.atMs === atMs)
    const isOwn = own.has(atMs)
    return { firings: (minute?.firings ?? 0) - (isOwn ? 1 : 0), jobs: (minute?.jobs ?? 0) - (isOwn ? savedJobs : 0) }
  }
  const here = at(fromMs)
  if (here.firings <= 0) return null
  const isCrowded = here.jobs + jobs > data.slots
  const quieter = Array.from({ length: SPREAD_MINUTES }, (_, index) => index + 1)
    .map((minutes) => ({
      minutes,
      load: at(fromMs + minutes * MINUTE_MS).jobs,
      timing: shifted(timing, fromMs, minutes)
    }))
    .filter((each) => each.timing !== null && each.load < here.jobs)
    .reduce<{ minutes: number; load: number; timing: ScheduleTiming | null } | null>(
      (best, each) => (best === null || each.load < best.load ? each : best),
      null
    )
  const clock = (atMs: number) => formatMoment(atMs, timing.zone, atMs).split(' ').at(-1)!
  return (
    <div className={`${classes.load} box`} data-crowded={isCrowded || undefined} role="status" aria-label={texts.load}>
      {isCrowded && <IconAlertTriangle size={15} aria-hidden />}
      <span>
        <strong className="semibold">{texts.otherSchedulesFire(here.firings, clock(fromMs))}</strong>{' '}
        <span className="dim">
          {(isCrowded ? texts.jobsForSlotsSomeWait : texts.jobsForSlots)(here.jobs + jobs, data.slots)}
        </span>
      </span>
      {(isCrowded || here.firings >= MANY) && quieter?.timing && (
        <Button variant="subtle" onClick={() => onSpread(quieter.timing as ScheduleTiming)}>
          {texts.spreadTo(clock(fromMs + quieter.minutes * MINUTE_MS))}
        </Button>
      )}
    </div>
  )
}

/**
 * Returns the timing, but with the rules that fire in the minute starting at `fromMs` moved by `minutes`. null: a rule
 * cannot be moved.
 */
function shifted(timing: ScheduleTiming, fromMs: number, minutes: number): ScheduleTiming | null {
  const moved = timing.rules.map((rule) => {
    const minute = { afterMs: fromMs - 1, untilMs: fromMs + MINUTE_MS - 1, limit: 1 }
    const fires = occurrencesToShow({ ...timing, rules: [rule] }, minute).length > 0
    return fires ? shiftRule(rule, minutes) : { rule }
  })
  const rules = moved.flatMap((each) => ('rule' in each ? [each.rule] : []))
  const next = { ...timing, rules }
  return rules.length === timing.rules.length && problemOfTiming(next) === null ? next : null
}

interface LeaveGuardProps {
  /** What is not saved yet, as a sentence. null: nothing would be lost. */
  unsaved: string | null
  isLeaving: RefObject<boolean>
}

/** Asks before a link, a key, Back or closing the tab leaves a screen with unsaved changes. */
function LeaveGuard({ unsaved, isLeaving }: LeaveGuardProps) {
  const blocker = useBlocker({
    shouldBlockFn: () => unsaved !== null && !isLeaving.current,
    // In the desktop, the window would silently refuse to close.
    enableBeforeUnload: () => unsaved !== null && window.scrapdeck === undefined,
    withResolver: true
  })
  if (blocker.status !== 'blocked') return null
  return (
    <ConfirmDialog
      title={texts.askLeave}
      act={texts.discardAndLeave}
      onAct={blocker.proceed}
      keep={texts.keepEditing}
      onClose={blocker.reset}
    >
      {unsaved}
    </ConfirmDialog>
  )
}
