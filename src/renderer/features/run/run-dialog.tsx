import { Dialog } from '../../ui/dialog.tsx'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Job, Project, RunInput, Schedule } from '../../../shared/contract/index.ts'
import { effectiveRunLimits } from '../../../shared/run-limits.ts'
import { LOCAL_ENGINE } from '../../../shared/wire.ts'
import { useApi } from '../../api/api.tsx'
import { useMe } from '../../api/use-me.ts'
import { engineOfPage } from '../../api/wire.ts'
import { closeRunDialog, type RunPrefill, useRunDialog } from '../../state/open-dialogs.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { type Fields, useFormOf } from '../../ui/fields/form-of-schema.ts'
import type { RowKind } from '../../ui/fields/form-rows.ts'
import { ArgumentsAndSettings } from '../../ui/fields/arguments-and-settings.tsx'
import { InheritedRows } from '../../ui/fields/inherited-rows.tsx'
import { type Inherited, inheritedBy, ORIGIN_TEXTS, notReplaced, stillInherited } from '../../ui/fields/inherited.ts'
import { JobTarget, useKnownNames } from '../../ui/fields/job-target.tsx'
import { describeRunLimits, RunLimitsForm } from '../../ui/fields/run-limits.ts'
import { RunLimitsFields } from '../../ui/fields/run-limits-fields.tsx'
import { useEngineAway } from '../../state/remote-engines.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { ValueRows } from '../../ui/fields/value-rows.tsx'
import { WhereFields } from '../../ui/fields/where-fields.tsx'
import { Fold } from '../../ui/fold.tsx'
import { notifyLink } from '../../ui/notify.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatMoment } from '../../ui/moment.ts'
import classes from './run-dialog.module.css'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { type Asked, RunForm, type RunTexts, startForm } from './run-form.ts'
import { RunMore } from './run-more.tsx'
import { RunWhen } from './run-when.tsx'
import { beyondSchedule, cronCommand, runCommand } from './schedule-command.ts'
import { texts } from '../../../shared/texts/ui/run.ts'

/** Queues a run. Open it with `openRunDialog(prefill)`. */
export function RunDialog() {
  const prefill = useRunDialog((state) => state.prefill)
  const api = useApi()
  const projects = useQuery(api.query.projects.list.queryOptions())
  return (
    <Dialog opened={prefill !== null} onClose={closeRunDialog} title={texts.runSpiders} size={640}>
      {prefill !== null && (
        <QueryState query={projects} what={texts.theProjects} rows={6}>
          {(data) =>
            data.projects.length === 0 ? (
              <EmptyState title={texts.noProjectsYet}>{texts.noProjectsHint}</EmptyState>
            ) : (
              <RunFields projects={data.projects} prefill={prefill} />
            )
          }
        </QueryState>
      )}
    </Dialog>
  )
}

function RunFields({ projects, prefill }: { projects: readonly Project[]; prefill: RunPrefill }) {
  const api = useApi()
  const go = useNavigate()
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes ?? []
  const [showsCommand, setShowsCommand] = useState(false)
  const away = useEngineAway()
  const form = useFormOf<RunTexts, Asked>({
    schema: RunForm,
    start: () => withKnownProject(startForm(prefill, lastUsed()), projects),
    save: async ({ run, schedule }) => {
      const answer =
        schedule === null
          ? await api.client.jobs.run(withKnownLeft(run, inherited))
          : await api.client.schedules.create(schedule)
      rememberUsed(run)
      closeRunDialog()
      if ('schedule' in answer) announceSchedule(answer.schedule, go)
      else announceJobs(answer.jobs, go)
    }
  })
  const { values, output } = form
  const ofProject = projects.find(({ name }) => name === values.project)?.settings ?? null
  const inherited = inheritedBy(ofProject, values.spiders)
  const isRepeated = values.when.kind === 'cron'
  const known = useKnownNames(values)
  const isElsewhere =
    values.where === 'node' && nodes.some(({ id, kind }) => id === values.nodeId && !['local', 'engine'].includes(kind))
  const limits = RunLimitsForm.safeParse(values.limits)

  return (
    <SchemaForm form={form}>
      <JobTarget fields={form} projects={projects} takesFocus />
      <ArgumentsAndSettings
        fields={form}
        names={known}
        inherited={(kind) => <InheritedOf form={form} kind={kind} inherited={inherited} />}
      />
      <WhereFields fields={form} nodes={nodes} inherited={inherited} of={isRepeated ? 'template' : 'run'} />
      {values.spiders.length > 1 && values.spiders.some((spider) => ofProject?.spiderDefaults[spider]) && (
        <p className="dim small">{texts.ownDefaultsHint}</p>
      )}
      {!isRepeated && <RunEnvironment form={form} inherited={inherited} />}
      <RunWhen fields={form} usualName={output?.schedule?.name} />
      <RunMore fields={form} run={output?.run ?? null} ofProject={ofProject} />
      <Fold
        title={texts.limits}
        summary={
          (limits.success && describeRunLimits(effectiveRunLimits(ofProject?.limits ?? null, limits.data))) ||
          texts.none
        }
        isWrong={form.hasError('limits')}
      >
        <RunLimitsFields fields={form.within('limits')} inherited={ofProject?.limits ?? null} />
        <p className="dim small">{isElsewhere ? texts.limitsOfNodeHint : texts.limitsHint}</p>
      </Fold>
      {showsCommand && output !== null && <Command {...output} run={withKnownLeft(output.run, inherited)} />}
      <FormFoot
        form={form}
        submit={
          isRepeated
            ? texts.createSchedule
            : values.spiders.length > 1
              ? texts.runSpiderCount(values.spiders.length)
              : texts.runSpider
        }
        isDisabled={away !== null}
        says={away ?? ''}
        onCancel={closeRunDialog}
      >
        <Button
          className={classes.asCurl}
          variant="subtle"
          color="gray"
          onClick={() => setShowsCommand(!showsCommand)}
          disabled={output === null}
          aria-expanded={showsCommand}
        >
          {showsCommand ? texts.hideCurl : texts.showCurl}
        </Button>
      </FormFoot>
    </SchemaForm>
  )
}

interface InheritedProps {
  form: Fields<RunTexts>
  kind: RowKind
  inherited: Inherited
}

/** Unlike a run, a schedule created here cannot omit individual inherited values. */
function InheritedOf({ form, kind, inherited }: InheritedProps) {
  const { when, withoutDefaults } = form.values
  if (when.kind === 'cron') return <InheritedRows fields={form} kind={kind} inherited={inherited} />
  return (
    <InheritedRows
      fields={form}
      kind={kind}
      inherited={inherited}
      left={stillInherited(withoutDefaults, inherited)}
      onLeave={(next) => form.change({ withoutDefaults: next })}
    />
  )
}

/** Collapsed at first, because most runs have no variables. Their names are in the summary. */
function RunEnvironment({ form, inherited }: Omit<InheritedProps, 'kind'>) {
  const { env, withoutDefaults } = form.values
  const left = stillInherited(withoutDefaults, inherited)
  const used = notReplaced(inherited.env, env).filter(({ name }) => !left.includes(name))
  const names = [
    ...env.map(({ name }) => name).filter((name) => name !== ''),
    ...used.map(({ name, origin }) => `${name} (${ORIGIN_TEXTS[origin]})`)
  ]
  return (
    <Fold title={texts.environmentVariables} summary={names.join(', ') || texts.none} isWrong={form.hasError('env')}>
      <ValueRows
        fields={form}
        name="env"
        kind="env"
        title={texts.variables}
        names={[]}
        hint={texts.environmentVariablesHint}
        inherited={<InheritedOf form={form} kind="env" inherited={inherited} />}
      />
    </Fold>
  )
}

function Command({ run, schedule }: Asked) {
  const api = useApi()
  const status = useQuery(api.query.system.status.queryOptions()).data
  const { data: me } = useMe()
  const door = {
    address: status?.address ?? 'http://127.0.0.1:6800',
    username: me?.name ?? 'USERNAME'
  }
  const { command, isSchedule } =
    schedule === null ? runCommand(run, door) : { command: cronCommand(schedule, door), isSchedule: true }
  return (
    <div className={classes.command}>
      <pre>{command}</pre>
      <span className={classes.copy}>
        <CopyButton value={command} what={texts.command} />
      </span>
      {!isSchedule && <p className="dim">{texts.beyondScheduleJson(texts.lastOr(beyondSchedule(run)))}</p>}
    </div>
  )
}

type Go = ReturnType<typeof useNavigate>

/** Shows a notice with a link to the queued jobs. Opens a single job immediately. */
function announceJobs(jobs: readonly Job[], go: Go): void {
  const [first] = jobs
  if (first === undefined) return
  const { project, spider, id } = first
  const openJob = () => void go({ to: '/jobs', search: { job: id, tab: 'log' } })
  if (jobs.length === 1) {
    notifyLink(texts.jobQueued(project, spider), texts.openJob, openJob)
    openJob()
  } else
    notifyLink(
      texts.jobsQueued(jobs.length, project),
      texts.showJobs,
      () => void go({ to: '/jobs', search: { project } })
    )
}

function announceSchedule({ id, name, nextAtMs }: Schedule, go: Go): void {
  notifyLink(
    nextAtMs === null ? texts.created(name) : texts.scheduleCreatedNext(name, formatMoment(nextAtMs, Date.now())),
    texts.openSchedule,
    () => void go({ to: '/schedules', search: { schedule: id } })
  )
}

function withKnownProject(form: RunTexts, projects: readonly Project[]): RunTexts {
  if (projects.some(({ name }) => name === form.project)) return form
  return { ...form, project: projects.length === 1 ? projects[0]!.name : null, spiders: [], version: null }
}

function withKnownLeft({ withoutDefaults = [], ...run }: RunInput, inherited: Inherited): RunInput {
  const left = stillInherited(withoutDefaults, inherited)
  return left.length === 0 ? run : { ...run, withoutDefaults: left }
}

/** All engines of a desktop share the page's storage, but each has its own projects. */
const lastKey = (): string => {
  const engine = engineOfPage()
  return `scrapdeck.run-dialog.last${engine === LOCAL_ENGINE ? '' : `.${engine}`}`
}

function lastUsed(): RunPrefill | null {
  try {
    return JSON.parse(localStorage.getItem(lastKey()) ?? 'null') as RunPrefill | null
  } catch {
    // Without a readable value, the form starts empty.
    return null
  }
}

function rememberUsed(run: RunInput): void {
  localStorage.setItem(lastKey(), JSON.stringify(maskSecrets(run, '')))
}
