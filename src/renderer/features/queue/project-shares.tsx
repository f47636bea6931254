import { NumberInput, Switch } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Project } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { formatCount } from '../../ui/numbers.ts'
import { Panel } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { useProjectPause } from '../../ui/use-pause-switch.ts'
import classes from './queue-screen.module.css'
import { texts } from '../../../shared/texts/ui/queue.ts'

export function ProjectShares() {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions())
  const waiting = useCounts(['queued'])
  const live = useCounts(['starting', 'running'])
  return (
    <Panel title={texts.projects} note={texts.projectsNote} flush>
      <QueryState query={projects} what={texts.theProjects} rows={5}>
        {(data) =>
          data.projects.length === 0 ? (
            <EmptyState title={texts.noProjectsYet}>{texts.noProjectsHint}</EmptyState>
          ) : (
            <>
              <table className={classes.shares}>
                <thead>
                  <tr>
                    <th scope="col">{texts.project}</th>
                    {[texts.waiting, texts.live, texts.weight, texts.share].map((word) => (
                      <th key={word} scope="col" className={classes.number}>
                        {word}
                      </th>
                    ))}
                    <th scope="col">{texts.dispatching}</th>
                  </tr>
                </thead>
                <tbody>
                  {data.projects.map((project) => (
                    <ShareRow
                      key={project.name}
                      project={project}
                      waiting={waiting.get(project.name) ?? 0}
                      live={live.get(project.name) ?? 0}
                      share={shareOf(project, data.projects, (name) => waiting.get(name) ?? 0)}
                    />
                  ))}
                </tbody>
              </table>
              <p className={`${classes.foot} dim`}>{texts.weightHint}</p>
            </>
          )
        }
      </QueryState>
    </Panel>
  )
}

function useCounts(status: ('queued' | 'starting' | 'running')[]): ReadonlyMap<string, number> {
  const { query } = useApi()
  const { data } = useQuery(query.jobs.facets.queryOptions({ input: { status } }))
  return new Map(data?.project.map(({ value, count }) => [value, count]))
}

/** The share of slots by weight among projects with queued jobs. null: the project is paused or has no queued job. */
export function shareOf(
  { name, settings }: Project,
  projects: readonly Project[],
  waitingOf: (name: string) => number
): number | null {
  const counts = (project: Project) => waitingOf(project.name) > 0 && !project.settings.paused
  if (settings.paused || waitingOf(name) === 0) return null
  const total = projects.filter(counts).reduce((sum, project) => sum + project.settings.weight, 0)
  return settings.weight / total
}

interface ShareRowProps {
  project: Project
  waiting: number
  live: number
  share: number | null
}

function ShareRow({ project, waiting, live, share }: ShareRowProps) {
  const { client } = useApi()
  // A weight affects the slots of all projects.
  const weighs = useMay('projects.change', 'everywhere')
  const mayPause = useMay('queue.pause', { project: project.name }).may
  const { name, settings } = project
  const [weight, setWeight] = useState<number | ''>(settings.weight)
  const [shown, setShown] = useState(settings.weight)
  if (shown !== settings.weight) {
    setShown(settings.weight)
    setWeight(settings.weight)
  }
  const change = useMutation({
    mutationFn: (next: number) => client.projects.changeSettings({ project: name, settings: { weight: next } }),
    onMutate: () => ({ before: settings.weight }),
    onSuccess: (_project, next, { before }) =>
      notifyUndo(
        texts.weightChanged(name, next),
        () => client.projects.changeSettings({ project: name, settings: { weight: before } }),
        `weight:${name}`
      ),
    onError: (error) => {
      setWeight(settings.weight)
      notifyError(texts.couldNotChangeWeight(name), error)
    }
  })
  const saveWeight = () => {
    if (weight === '' || weight === settings.weight) setWeight(settings.weight)
    else change.mutate(weight)
  }
  const { paused, toggle } = useProjectPause(project)
  return (
    <tr data-paused={paused || undefined}>
      <th scope="row">
        <Link to="/projects" search={{ project: name }} className="link" title={name}>
          {name}
        </Link>
      </th>
      <td className={classes.number}>
        {waiting === 0 ? (
          <span className="faint">0</span>
        ) : (
          <Link to="/jobs" search={{ status: ['queued'], project: name }}>
            {formatCount(waiting)}
          </Link>
        )}
      </td>
      <td className={classes.number}>{live === 0 ? <span className="faint">0</span> : formatCount(live)}</td>
      <td className={classes.number}>
        <NumberInput
          aria-label={texts.weightLabel(name)}
          disabled={!weighs.may}
          title={weighs.why ?? undefined}
          min={0.01}
          max={100}
          decimalScale={2}
          hideControls
          value={weight}
          onChange={(value) => setWeight(typeof value === 'number' ? value : '')}
          onBlur={saveWeight}
          onKeyDown={(event) => {
            if (event.key === 'Enter') saveWeight()
            if (event.key === 'Escape') setWeight(settings.weight)
          }}
        />
      </td>
      <td className={classes.number}>
        {share === null ? <span className="faint">–</span> : `${Math.round(share * 100)} %`}
      </td>
      <td>
        <Switch
          size="xs"
          checked={!paused}
          disabled={!mayPause}
          onChange={toggle}
          label={paused ? <span className="tone-wait">{texts.paused}</span> : texts.on}
          aria-label={texts.dispatchingLabel(name)}
        />
      </td>
    </tr>
  )
}
