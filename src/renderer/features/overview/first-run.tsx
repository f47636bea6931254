import { Button } from '@mantine/core'
import { IconBoxSeam, IconPlayerPlay, IconServer2 } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PythonState } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { CreateEnvironment } from '../../ui/python-environment.tsx'
import classes from './first-run.module.css'
import { texts } from '../../../shared/texts/ui/overview.ts'

export function useIsFirstRun(): boolean {
  const { query } = useApi()
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const { data: eggs } = useQuery(query.projects.list.queryOptions())
  const { data: newest } = useQuery(query.jobs.list.queryOptions({ input: { limit: 1 } }))
  if (!fleet || !eggs || !newest) return false
  return fleet.nodes.every(({ kind }) => kind === 'local') && eggs.projects.length === 0 && newest.jobs.length === 0
}

export function FirstRun({ python }: { python: PythonState }) {
  const { may } = useMay('nodes.change')
  return (
    <section className={`${classes.panel} card`} aria-label={texts.start}>
      <h2 className={classes.title}>{texts.firstRunTitle}</h2>
      <p className="dim">{texts.firstRunHint}</p>
      <div className={classes.ways}>
        {python.state === 'ready' ? <RunDemo python={python} /> : <GetPython python={python} />}
        <Way icon={<IconServer2 size={20} stroke={1.5} />} title={texts.addNodes} text={texts.addNodesHint}>
          {may && (
            <LinkButton to="/nodes" search={{ add: true }}>
              {texts.addNodesMenu}
            </LinkButton>
          )}
        </Way>
        <Way icon={<IconBoxSeam size={20} stroke={1.5} />} title={texts.deployProject} text={texts.deployProjectHint}>
          <LinkButton to="/projects">{texts.openProjects}</LinkButton>
        </Way>
      </div>
    </section>
  )
}

function RunDemo({ python }: { python: PythonState }) {
  const { query } = useApi()
  const mayDeploy = useMay('eggs.deploy', 'everywhere').may
  const may = useMay('jobs.run', 'everywhere').may && mayDeploy
  const navigate = useNavigate()
  const { mutate, isPending } = useMutation(
    query.system.runDemo.mutationOptions({
      onSuccess: ({ job }) => void navigate({ to: '/logs', search: { jobs: [job.id], job: job.id } }),
      onError: (error) => notifyError(texts.couldNotRunDemo, error)
    })
  )
  return (
    <Way
      icon={<IconPlayerPlay size={20} stroke={1.5} />}
      title={texts.runDemoSpider}
      text={texts.runDemoHint(python.scrapyVersion)}
    >
      {may && (
        <Button variant="filled" loading={isPending} onClick={() => mutate(undefined)}>
          {texts.runDemo}
        </Button>
      )}
    </Way>
  )
}

function GetPython({ python }: { python: PythonState }) {
  if (python.state === 'checking') {
    return (
      <Way icon={<IconPlayerPlay size={20} stroke={1.5} />} title={texts.runDemoSpider} text={texts.lookingForPython} />
    )
  }
  return (
    <Way
      icon={<IconPlayerPlay size={20} stroke={1.5} />}
      title={texts.installScrapy}
      text={python.problem ?? texts.pythonNotFound}
    >
      <CreateEnvironment primary />
    </Way>
  )
}

function Way({ icon, title, text, children }: { icon: ReactNode; title: string; text: string; children?: ReactNode }) {
  return (
    <div className={`${classes.way} box`}>
      <span className={classes.icon}>{icon}</span>
      <strong>{title}</strong>
      <p className="dim">{text}</p>
      <div>{children}</div>
    </div>
  )
}
