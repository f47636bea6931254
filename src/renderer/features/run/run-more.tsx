import { Checkbox, Select, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconChevronRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Dependency, ProjectSettings } from '../../../shared/contract/index.ts'
import { formatAge } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { RetryFields } from '../../ui/retry-fields.tsx'
import classes from './run-dialog.module.css'
import { describeMore, type MoreForm, readMore } from './run-more-form.ts'

interface RunMoreProps {
  form: MoreForm
  /** What holds where nothing is said here. */
  ofProject: ProjectSettings | null
  onChange: (form: MoreForm) => void
}

/** When, how often and after what: closed it says what was asked for; most runs never open it. */
export function RunMore({ form, ofProject, onChange }: RunMoreProps) {
  const [isOpen, setOpen] = useState(false)
  const nowMs = Date.now()
  const read = readMore(form, nowMs)
  const change = (patch: Partial<MoreForm>) => onChange({ ...form, ...patch })
  return (
    <section className={classes.limits} aria-label="More">
      <button type="button" className={classes.limitsHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={14} aria-hidden />
        <strong>More</strong>{' '}
        <span className={`ellipsis ${'problem' in read ? 'tone-bad' : 'dim'}`}>
          {'problem' in read
            ? read.problem
            : (describeMore(read.more, nowMs) ?? 'when, retries, overlap, after another job')}
        </span>
      </button>
      {isOpen && (
        <div className={classes.more}>
          <div className={classes.pair}>
            <TextInput
              type="datetime-local"
              label="Not before"
              description="Empty: as soon as a slot is free"
              value={form.notBefore}
              onChange={(event) => change({ notBefore: event.currentTarget.value })}
            />
            <TextInput
              type="datetime-local"
              label="Expires"
              description="Dropped if it has not been sent by then"
              value={form.expires}
              onChange={(event) => change({ expires: event.currentTarget.value })}
            />
          </div>
          <fieldset className={classes.group}>
            <legend className={classes.label}>Retry</legend>
            <RetryFields
              texts={form.retry}
              inherited={ofProject?.retry ?? null}
              onChange={(retry) => change({ retry })}
            />
          </fieldset>
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
        </div>
      )}
    </section>
  )
}

/** Picks the job to wait for, newest first, found by its spider, project or id. */
function AfterField({ after, onChange }: { after: Dependency | null; onChange: (after: Dependency | null) => void }) {
  const { query } = useApi()
  const [text, setText] = useState('')
  const [settled] = useDebouncedValue(text, 200)
  const found = useQuery(
    query.jobs.list.queryOptions({ input: { text: settled.split(' ')[0] || undefined, limit: 30 }, staleTime: 10_000 })
  )
  const chosen = useQuery({
    ...query.jobs.get.queryOptions({ input: { id: after?.jobId ?? '' }, retry: false }),
    enabled: after !== null
  })
  const nowMs = Date.now()
  const jobs = [...(found.data?.jobs ?? [])]
  if (chosen.data && !jobs.some(({ id }) => id === chosen.data.job.id)) jobs.unshift(chosen.data.job)
  return (
    <div className={classes.pair}>
      <Select
        label="After another job"
        placeholder="none"
        description="Cancelled if that one ends otherwise"
        searchable
        clearable
        searchValue={text}
        onSearchChange={setText}
        filter={({ options }) => options}
        nothingFoundMessage="No job fits"
        value={after?.jobId ?? null}
        onChange={(jobId) => onChange(jobId === null ? null : { jobId, on: after?.on ?? 'succeeded' })}
        data={jobs.map((job) => ({
          value: job.id,
          label: `${job.project}/${job.spider} · ${job.status} · ${formatAge(nowMs - job.queuedAtMs)} ago`
        }))}
      />
      <Select
        label="When it"
        description="How that one must have ended"
        allowDeselect={false}
        disabled={after === null}
        value={after?.on ?? 'succeeded'}
        onChange={(on) => after !== null && onChange({ ...after, on: on as Dependency['on'] })}
        data={[
          { value: 'succeeded', label: 'has succeeded' },
          { value: 'failed', label: 'has failed' },
          { value: 'ended', label: 'has ended, however' }
        ]}
      />
    </div>
  )
}
