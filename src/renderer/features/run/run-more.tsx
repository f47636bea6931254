import { Checkbox, MultiSelect, Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconChevronRight } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Dependency, Job, ProjectSettings } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { RetryFields } from '../../ui/fields/retry-fields.tsx'
import classes from './run-dialog.module.css'
import { AFTER_MAX, describeMore, type MoreForm, readMore } from './run-more-form.ts'

interface RunMoreProps {
  form: MoreForm
  /** What holds where nothing is said here. */
  ofProject: ProjectSettings | null
  /** A schedule is made: what belongs to one run is left out. */
  isRepeated: boolean
  onChange: (form: MoreForm) => void
}

/** How often, until when and after what: closed it says what was asked for; most runs never open it. */
export function RunMore({ form, ofProject, isRepeated, onChange }: RunMoreProps) {
  const [isOpen, setOpen] = useState(false)
  const nowMs = Date.now()
  const read = readMore(isRepeated ? { ...form, expires: '', noOverlap: null, after: [], dedupeKey: '' } : form, nowMs)
  const change = (patch: Partial<MoreForm>) => onChange({ ...form, ...patch })
  return (
    <section className={classes.limits} aria-label="More">
      <button type="button" className={classes.limitsHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={14} aria-hidden />
        <strong>More</strong>{' '}
        <span className={`ellipsis ${'problem' in read ? 'tone-bad' : 'dim'}`}>
          {'problem' in read
            ? read.problem
            : (describeMore({ ...read.more, notBeforeMs: null }, nowMs) ??
              (isRepeated ? 'retries' : 'retries, expiry, overlap, after another job'))}
        </span>
      </button>
      {isOpen && (
        <div className={classes.more}>
          <fieldset className={classes.group}>
            <legend className={classes.label}>Retry</legend>
            <RetryFields
              texts={form.retry}
              inherited={ofProject?.retry ?? null}
              onChange={(retry) => change({ retry })}
            />
          </fieldset>
          {!isRepeated && (
            <>
              <TextInput
                type="datetime-local"
                label="Expires"
                description="Dropped if it has not been sent by then"
                value={form.expires}
                onChange={(event) => change({ expires: event.currentTarget.value })}
              />
              <Checkbox
                label="No overlap"
                description={`Waits while another run of this spider with these arguments is live${form.noOverlap === null && ofProject?.noOverlap ? '; the project says so' : ''}`}
                checked={form.noOverlap ?? ofProject?.noOverlap ?? false}
                onChange={(event) => change({ noOverlap: event.currentTarget.checked })}
              />
              <AfterField after={form.after} onChange={(after) => change({ after })} />
              <div className={classes.pair}>
                <TextInput
                  label="Only once: key"
                  description="Asked again with this key, the job from before is the answer"
                  value={form.dedupeKey}
                  onChange={(event) => change({ dedupeKey: event.currentTarget.value })}
                  classNames={{ input: 'mono' }}
                  spellCheck={false}
                />
                <TextInput
                  label="For"
                  description="So long after the first"
                  value={form.dedupeTtl}
                  disabled={form.dedupeKey.trim() === ''}
                  onChange={(event) => change({ dedupeTtl: event.currentTarget.value })}
                />
              </div>
            </>
          )}
        </div>
      )}
    </section>
  )
}

const ENDINGS: { value: Dependency['on']; label: string }[] = [
  { value: 'succeeded', label: 'has succeeded' },
  { value: 'failed', label: 'has failed' },
  { value: 'ended', label: 'has ended, however' }
]

/** Picks the jobs to wait for, newest first, found by spider, project or id; each has an ending of its own to wait for. */
function AfterField({
  after,
  onChange
}: {
  after: readonly Dependency[]
  onChange: (after: readonly Dependency[]) => void
}) {
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
  const jobs = new Map<string, Job>(chosen.flatMap(({ data }) => (data ? [[data.job.id, data.job]] : [])))
  for (const job of found.data?.jobs ?? []) jobs.set(job.id, job)
  const nameOf = (jobId: string) => {
    const job = jobs.get(jobId)
    return job === undefined
      ? jobId
      : `${job.project}/${job.spider} · ${job.status} · ${formatAge(nowMs - job.queuedAtMs)} ago`
  }
  // What is chosen must be among the choices, even while it is not read.
  const choices = [...new Set([...after.map(({ jobId }) => jobId), ...jobs.keys()])]
  return (
    <fieldset className={classes.group}>
      <legend className="visually-hidden">After other jobs</legend>
      <MultiSelect
        label="After other jobs"
        placeholder={after.length === 0 ? 'none' : undefined}
        description="Waits for each of them; cancelled if one ends otherwise"
        searchable
        clearable
        hidePickedOptions
        maxValues={AFTER_MAX}
        searchValue={text}
        onSearchChange={setText}
        filter={({ options }) => options}
        nothingFoundMessage="No job fits"
        value={after.map(({ jobId }) => jobId)}
        onChange={(ids) =>
          onChange(ids.map((jobId) => after.find((each) => each.jobId === jobId) ?? { jobId, on: 'succeeded' }))
        }
        data={choices.map((jobId) => ({ value: jobId, label: nameOf(jobId) }))}
      />
      {after.map(({ jobId, on }) => (
        <div key={jobId} className={classes.dependency}>
          <span className="ellipsis" title={jobId}>
            {nameOf(jobId)}
          </span>
          <Select
            aria-label={`How ${nameOf(jobId)} must have ended`}
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
