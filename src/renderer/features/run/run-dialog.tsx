import { Button, Modal, MultiSelect, Select } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconChevronRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import type {
  Job,
  Node,
  Project,
  RunInput,
  RunLimits,
  Schedule,
  ScheduleSettings
} from '../../../shared/contract/index.ts'
import { effectiveLimits } from '../../../shared/run-limits.ts'
import { useApi } from '../../api/api.tsx'
import { DialogFoot } from '../../ui/dialog-foot.tsx'
import { closeRunDialog, type RunPrefill, useRunDialog } from '../../state/run-dialog.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Kbd, modKey } from '../../ui/kbd.tsx'
import { FormFailure } from '../../ui/fields/form-failure.tsx'
import { describeLimits, readLimits } from '../../ui/fields/limits.ts'
import { LimitsFields } from '../../ui/fields/limits-fields.tsx'
import { plural } from '../../ui/numbers.ts'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatMoment } from '../../ui/waiting.tsx'
import { ValueRows } from '../../ui/fields/value-rows.tsx'
import { WhereFields } from '../../ui/fields/where-fields.tsx'
import classes from './run-dialog.module.css'
import { readForm, type RunForm, startForm, withoutSecrets } from './run-form.ts'
import { RunMore } from './run-more.tsx'
import { RunWhen } from './run-when.tsx'
import { readSchedule } from './run-when-form.ts'
import { beyondSchedule, cronCommand, runCommand } from './schedule-command.ts'

/** Asks what to run and where, and puts it into the queue. Open it with `openRunDialog(prefill)`. */
export function RunDialog() {
  const prefill = useRunDialog((state) => state.prefill)
  const api = useApi()
  const projects = useQuery(api.query.projects.list.queryOptions())
  return (
    <Modal opened={prefill !== null} onClose={closeRunDialog} title="Run spiders" size={640}>
      {prefill !== null && (
        <QueryState query={projects} what="the projects" rows={6}>
          {(data) =>
            data.projects.length === 0 ? (
              <EmptyState title="There is nothing to run yet">
                Deploy a project first: drop its .egg or its folder into this window.
              </EmptyState>
            ) : (
              <RunFields projects={data.projects} prefill={prefill} />
            )
          }
        </QueryState>
      )}
    </Modal>
  )
}

function RunFields({ projects, prefill }: { projects: readonly Project[]; prefill: RunPrefill }) {
  const api = useApi()
  const navigate = useNavigate()
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes ?? []
  const [form, setForm] = useState(() => withKnownProject(startForm(prefill, lastUsed()), projects))
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [showsCommand, setShowsCommand] = useState(false)
  const change = (patch: Partial<RunForm>) => {
    setError(null)
    setForm((before) => ({ ...before, ...patch }))
  }

  const project = projects.find(({ name }) => name === form.project)
  const version = project?.versions.find((each) => each.version === (form.version ?? project.latestVersion))
  const known = version?.spiders ?? null
  const spiderOptions = [...new Set([...(known ?? []), ...form.spiders])].sort()
  const suggestions = useSuggestions(form)
  const run = readForm(form)
  const isRepeated = form.when.kind === 'cron'
  const schedule = isRepeated && 'run' in run ? readSchedule(form.when, run.run) : null
  const read = schedule !== null && 'missing' in schedule ? schedule : run
  const strangers = known === null ? [] : form.spiders.filter((spider) => !known.includes(spider))

  const ask = async () => {
    if ('missing' in read || isRunning) return
    setRunning(true)
    setError(null)
    try {
      if (schedule !== null && 'settings' in schedule) {
        const made = await api.client.schedules.create(schedule.settings)
        rememberUsed(read.run)
        closeRunDialog()
        announceSchedule(
          made.schedule,
          () => void navigate({ to: '/schedules', search: { schedule: made.schedule.id } })
        )
        return
      }
      const { jobs } = await api.client.jobs.run(read.run)
      rememberUsed(read.run)
      closeRunDialog()
      announce(
        jobs,
        (id) =>
          void navigate({ to: '/jobs', search: id === null ? { project: read.run.project } : { job: id, tab: 'log' } })
      )
      const [only] = jobs
      if (jobs.length === 1 && only !== undefined) void navigate({ to: '/jobs', search: { job: only.id, tab: 'log' } })
    } catch (failure) {
      setError(failure)
    } finally {
      setRunning(false)
    }
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    void ask()
  }

  return (
    <form
      className={classes.form}
      onKeyDown={onKeyDown}
      onSubmit={(event) => {
        event.preventDefault()
        void ask()
      }}
    >
      <div className={classes.pair}>
        <Select
          label="Project"
          data={projects.map(({ name }) => name)}
          value={form.project}
          onChange={(name) => change({ project: name, version: null, spiders: [] })}
          searchable
          allowDeselect={false}
          placeholder="Choose a project"
          autoFocus={form.project === null}
          openOnFocus={false}
        />
        <Select
          label="Version"
          data={[
            { value: '', label: project?.latestVersion ? `latest (${project.latestVersion})` : 'latest' },
            ...(project?.versions.map((each) => ({ value: each.version, label: each.version })) ?? [])
          ]}
          value={form.version ?? ''}
          onChange={(value) => change({ version: value || null })}
          allowDeselect={false}
          disabled={project === undefined}
        />
      </div>
      <MultiSelect
        label="Spiders"
        data={spiderOptions}
        value={[...form.spiders]}
        onChange={(spiders) => change({ spiders })}
        searchable
        clearable
        limit={200}
        hidePickedOptions
        disabled={project === undefined}
        placeholder={form.spiders.length === 0 ? 'Choose one or several' : undefined}
        nothingFoundMessage={
          known === null ? 'The spiders of this version are not listed yet' : 'No spider has this name'
        }
        description={
          known !== null && known.length > 1 && form.spiders.length < known.length ? (
            <AllButton count={known.length} onAll={() => change({ spiders: [...known] })} />
          ) : undefined
        }
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        error={
          strangers.length > 0
            ? `${strangers.join(', ')} ${strangers.length === 1 ? 'is' : 'are'} not in this version`
            : undefined
        }
        autoFocus={form.project !== null && form.spiders.length === 0}
        openOnFocus={false}
      />
      <ValueRows
        kind="args"
        title="Arguments"
        rows={form.args}
        names={suggestions.args}
        onChange={(args) => change({ args })}
      />
      <ValueRows
        kind="settings"
        title="Settings"
        rows={form.settings}
        names={suggestions.settings}
        onChange={(settings) => change({ settings })}
      />
      <WhereFields form={form} nodes={nodes} onChange={change} />
      <RunWhen
        form={form.when}
        notBefore={form.more.notBefore}
        usualName={schedule !== null && 'settings' in schedule ? schedule.settings.name : 'after what it runs'}
        onChange={(when) => change({ when: { ...form.when, ...when } })}
        onNotBefore={(notBefore) => change({ more: { ...form.more, notBefore } })}
      />
      <RunMore
        form={form.more}
        ofProject={project?.settings ?? null}
        isRepeated={isRepeated}
        onChange={(more) => change({ more })}
      />
      <LimitsSection form={form} ofProject={project?.settings.limits ?? null} nodes={nodes} onChange={change} />
      <FormFailure error={error} />
      {showsCommand && 'run' in read && (
        <Command run={read.run} schedule={schedule !== null && 'settings' in schedule ? schedule.settings : null} />
      )}
      <DialogFoot>
        <Button
          className={classes.asCurl}
          variant="subtle"
          color="gray"
          onClick={() => setShowsCommand(!showsCommand)}
          disabled={'missing' in read}
          aria-expanded={showsCommand}
        >
          {showsCommand ? 'Hide curl' : 'As curl'}
        </Button>
        <span className={classes.missing} role="status">
          {'missing' in read ? read.missing : ''}
        </span>
        <Button onClick={closeRunDialog}>Cancel</Button>
        <Button
          type="submit"
          variant="filled"
          loading={isRunning}
          disabled={'missing' in read}
          rightSection={<Kbd>{modKey('↵')}</Kbd>}
        >
          {isRepeated
            ? 'Save the schedule'
            : form.spiders.length > 1
              ? `Run ${plural(form.spiders.length, 'spider')}`
              : 'Run'}
        </Button>
      </DialogFoot>
    </form>
  )
}

/** Closed it says what holds; it opens to a field for each. */
function LimitsSection({
  form,
  ofProject,
  nodes,
  onChange
}: {
  form: RunForm
  ofProject: RunLimits | null
  nodes: readonly Node[]
  onChange: (patch: Partial<RunForm>) => void
}) {
  const [isOpen, setOpen] = useState(false)
  const read = readLimits(form.limits)
  const isElsewhere = form.where === 'node' && nodes.some(({ id, kind }) => id === form.nodeId && kind !== 'local')
  const summary = 'problem' in read ? null : describeLimits(effectiveLimits(ofProject, read.limits))
  return (
    <section className={classes.limits} aria-label="Limits">
      <button type="button" className={classes.limitsHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={14} aria-hidden />
        <strong>Limits</strong>{' '}
        <span className={`ellipsis ${'problem' in read ? 'tone-bad' : 'dim'}`}>
          {'problem' in read ? read.problem : (summary ?? 'none')}
        </span>
      </button>
      {isOpen && (
        <>
          <LimitsFields texts={form.limits} inherited={ofProject} onChange={(limits) => onChange({ limits })} />
          <p className={classes.hint}>
            {isElsewhere
              ? 'On the node chosen above only the wall time is kept; the other limits are the local node’s to keep.'
              : 'Wall time is kept on every node, the others on the local node only. A run that goes beyond one is stopped, and the limit is its reason.'}
          </p>
        </>
      )}
    </section>
  )
}

function AllButton({ count, onAll }: { count: number; onAll: () => void }) {
  return (
    <button type="button" className={classes.all} onClick={onAll}>
      Choose all {count}
    </button>
  )
}

/** The same for scripts and crontabs. */
function Command({ run, schedule }: { run: RunInput; schedule: ScheduleSettings | null }) {
  const api = useApi()
  const credentials = useQuery(api.query.system.credentials.queryOptions()).data
  const door = {
    address: credentials?.address ?? 'http://127.0.0.1:6800',
    username: credentials?.username ?? 'USERNAME'
  }
  const { command, isSchedule } =
    schedule === null ? runCommand(run, door) : { command: cronCommand(schedule, door), isSchedule: true }
  return (
    <div className={classes.command}>
      <pre>{command}</pre>
      <span className={classes.copy}>
        <CopyButton value={command} what="the command" />
      </span>
      {!isSchedule && (
        <p className="dim">
          Over Scrapdeck’s own API: schedule.json cannot say{' '}
          {beyondSchedule(run)
            .join(', ')
            .replace(/, ([^,]*)$/, ' or $1')}
          .
        </p>
      )}
    </div>
  )
}

/** Names that earlier runs of these spiders were given. */
function useSuggestions({ project, spiders }: RunForm): { args: string[]; settings: string[] } {
  const api = useApi()
  const filter = { project: project ?? undefined, spider: spiders.length === 1 ? spiders[0] : undefined, limit: 50 }
  const recent = useQuery({
    ...api.query.jobs.list.queryOptions({ input: filter }),
    enabled: project !== null,
    staleTime: 60_000
  })
  const names = (of: (job: Job) => Record<string, string>) =>
    [...new Set(recent.data?.jobs.flatMap((job) => Object.keys(of(job))) ?? [])].sort()
  return { args: names(({ args }) => args), settings: names(({ settings }) => settings) }
}

/** What was asked for stays visible for a moment, with the way to it. */
function announce(jobs: readonly Job[], open: (id: string | null) => void): void {
  const [only] = jobs
  if (only === undefined) return
  const isOne = jobs.length === 1
  notifications.show({
    withBorder: true,
    autoClose: 6000,
    message: (
      <div className={classes.toast}>
        <span>
          {isOne
            ? `${only.project}/${only.spider} is queued.`
            : `${plural(jobs.length, 'job')} of ${only.project} are queued.`}
        </span>
        <Button onClick={() => open(isOne ? only.id : null)}>{isOne ? 'Open' : 'Show them'}</Button>
      </div>
    )
  })
}

function announceSchedule(schedule: Schedule, open: () => void): void {
  notifications.show({
    withBorder: true,
    autoClose: 8000,
    message: (
      <div className={classes.toast}>
        <span>
          {schedule.name} is saved
          {schedule.nextAtMs !== null && ` and runs next ${formatMoment(schedule.nextAtMs, Date.now())}`}.
        </span>
        <Button onClick={open}>Open</Button>
      </div>
    )
  })
}

function withKnownProject(form: RunForm, projects: readonly Project[]): RunForm {
  const isKnown = projects.some(({ name }) => name === form.project)
  if (isKnown) return form
  const [only] = projects
  return {
    ...form,
    project: projects.length === 1 && only !== undefined ? only.name : null,
    spiders: [],
    version: null
  }
}

const LAST_KEY = 'scrapdeck.run-dialog.last'

function lastUsed(): RunPrefill | null {
  try {
    return JSON.parse(localStorage.getItem(LAST_KEY) ?? 'null') as RunPrefill | null
  } catch {
    // What stands there was not written by us; begin empty.
    return null
  }
}

function rememberUsed(run: RunInput): void {
  localStorage.setItem(LAST_KEY, JSON.stringify(withoutSecrets(run)))
}
