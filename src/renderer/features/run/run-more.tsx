import { Checkbox, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Dependency, Job, JobId, ProjectSettings, RunInput } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import form from '../../ui/fields/form.module.css'
import type { Fields } from '../../ui/fields/form-of-schema.ts'
import { describeRetry } from '../../ui/fields/retry.ts'
import { RetryFields } from '../../ui/fields/retry-fields.tsx'
import { Fold } from '../../ui/fold.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { formatMoment } from '../../ui/moment.ts'
import classes from './run-dialog.module.css'
import { AFTER_MAX, type RunTexts } from './run-form.ts'
import { MultiSelect, Select } from '../../ui/fields/select.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { texts } from '../../../shared/texts/ui/run.ts'
import { STATUS_LOOK } from '../../ui/status.tsx'

interface RunMoreProps {
  fields: Fields<RunTexts>
  run: RunInput | null
  ofProject: ProjectSettings | null
}

/** While collapsed, the section summarizes what was set, because most users never open it. */
export function RunMore({ fields, run, ofProject }: RunMoreProps) {
  const { values } = fields
  const isRepeated = values.when.kind === 'cron'
  const usual = isRepeated ? texts.moreSummaryOfSchedule : texts.moreSummary
  return (
    <Fold
      title={texts.more}
      summary={(run && describeMore(run, Date.now())) ?? usual}
      isWrong={fields.hasError('retry', 'expiresAtMs', 'after', 'dedupe')}
    >
      <fieldset>
        <legend className={form.label}>{texts.retry}</legend>
        <RetryFields fields={fields.within('retry')} inherited={ofProject?.retry ?? null} />
      </fieldset>
      {!isRepeated && (
        <>
          <TextInput
            {...fields.input('expiresAtMs')}
            type="datetime-local"
            label={texts.expires}
            description={texts.expiresHint}
          />
          <Checkbox
            {...fields.input('noOverlap', 'checkbox')}
            label={texts.noOverlap}
            description={
              values.noOverlap === null && ofProject?.noOverlap ? texts.noOverlapOfProjectHint : texts.noOverlapHint
            }
            checked={values.noOverlap ?? ofProject?.noOverlap ?? false}
          />
          <AfterField after={values.after} onChange={(after) => fields.change({ after })} />
          <div className={form.pair}>
            <TextInput
              {...fields.within('dedupe').input('key')}
              label={texts.idempotencyKey}
              description={texts.idempotencyKeyHint}
              {...CODE_INPUT}
            />
            <TextInput
              {...fields.within('dedupe').input('ttlSeconds')}
              label={texts.keyLifetime}
              description={texts.keyLifetimeHint}
              disabled={values.dedupe.key.trim() === ''}
            />
          </div>
        </>
      )}
    </Fold>
  )
}

/** The summary of the collapsed section: `up to 3 attempts · no overlap`. null: nothing was entered. */
export function describeMore(run: Partial<RunInput>, nowMs: number): string | null {
  const { expiresAtMs, retry, noOverlap, after, dedupe } = run
  const words = joinFacts(
    expiresAtMs != null && texts.expiresAt(formatMoment(expiresAtMs, nowMs)),
    retry && (describeRetry(retry) === null ? texts.noRetry : texts.upToAttempts(retry.attempts)),
    noOverlap === true && texts.withoutOverlap,
    after !== undefined && after.length > 0 && texts.afterJobs(after.length),
    dedupe && texts.withKey(dedupe.key)
  )
  return words === '' ? null : words
}

const ENDINGS: { value: Dependency['on']; label: string }[] = [
  { value: 'succeeded', label: texts.succeeded },
  { value: 'failed', label: texts.failed },
  { value: 'ended', label: texts.endedAnyOutcome }
]

/** Each job to wait for has its own required outcome. */
function AfterField({ after, onChange }: { after: readonly Dependency[]; onChange: (after: Dependency[]) => void }) {
  const { query } = useApi()
  const [text, setText] = useState('')
  const [settled] = useDebouncedValue(text, 200)
  const found = useQuery(
    query.jobs.list.queryOptions({ input: { text: settled.split(' ')[0] || undefined, limit: 30 }, staleTime: 10_000 })
  )
  const chosen = useQueries({
    queries: after.map(({ jobId }) => ({
      ...query.jobs.get.queryOptions({ input: { id: jobId }, retry: false }),
      staleTime: 10_000
    }))
  })
  const nowMs = Date.now()
  const jobs = new Map<JobId, Job>(chosen.flatMap(({ data }) => (data ? [[data.job.id, data.job]] : [])))
  for (const job of found.data?.jobs ?? []) jobs.set(job.id, job)
  const nameOf = (jobId: JobId) => {
    const job = jobs.get(jobId)
    return job === undefined
      ? jobId
      : texts.jobChoice(job.project, job.spider, STATUS_LOOK[job.status].word, formatAge(nowMs - job.queuedAtMs))
  }
  // Chosen jobs must be among the options, even before they are loaded.
  const choices = [...new Set([...after.map(({ jobId }) => jobId), ...jobs.keys()])]
  return (
    <fieldset>
      <legend className="visually-hidden">{texts.afterOtherJobs}</legend>
      <MultiSelect
        label={texts.afterOtherJobs}
        placeholder={after.length === 0 ? texts.none : undefined}
        description={texts.afterOtherJobsHint}
        searchable
        clearable
        hidePickedOptions
        maxValues={AFTER_MAX}
        searchValue={text}
        onSearchChange={setText}
        filter={({ options }) => options}
        nothingFoundMessage={texts.noMatchingJob}
        value={after.map(({ jobId }) => jobId)}
        onChange={(ids) =>
          onChange(
            ids.map((jobId) => after.find((each) => each.jobId === jobId) ?? { jobId: jobId as JobId, on: 'succeeded' })
          )
        }
        data={choices.map((jobId) => ({ value: jobId, label: nameOf(jobId) }))}
      />
      {after.map(({ jobId, on }) => (
        <div key={jobId} className={classes.dependency}>
          <span className="ellipsis" title={jobId}>
            {nameOf(jobId)}
          </span>
          <Select
            aria-label={texts.requiredOutcome(nameOf(jobId))}
            allowDeselect={false}
            value={on}
            onChange={(value) =>
              onChange(after.map((each) => (each.jobId === jobId ? { jobId, on: value as Dependency['on'] } : each)))
            }
            data={ENDINGS}
          />
        </div>
      ))}
    </fieldset>
  )
}
