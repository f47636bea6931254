import { Button, Group } from '@mantine/core'
import { IconAlertTriangleFilled, IconCircleCheck, IconCircleXFilled } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { NodeId, Problem, SpiderFindings } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { CreateEnvironment } from '../../ui/python-environment.tsx'
import { RunElsewhereButton } from '../../ui/run-elsewhere.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { usePauseSwitch } from '../../ui/use-pause-switch.ts'
import { useNodeName } from '../../ui/use-node-name.ts'
import classes from './problems.module.css'
import { texts } from '../../../shared/texts/ui/overview.ts'

export function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) {
    return (
      <Group gap={8} wrap="nowrap" p="9px 13px" className="card dim">
        <IconCircleCheck size={16} className="tone-ok" aria-hidden /> {texts.noProblems}
      </Group>
    )
  }
  return (
    <Panel title={texts.problems(problems.length)} flush>
      <ul className="divided">
        {problems.map((problem) => (
          <li key={problem.id} className={classes.problem}>
            {problem.severity === 'error' ? (
              <IconCircleXFilled size={14} className="tone-bad" role="img" aria-label={texts.error} />
            ) : (
              <IconAlertTriangleFilled size={14} className="tone-wait" role="img" aria-label={texts.warning} />
            )}
            <span className={`${classes.words} clamp grow`}>
              <strong>{problem.title}</strong> <span className="dim">{problem.text}</span>
            </span>
            {problem.sinceMs !== null && (
              <span className="faint fixed small">
                <RelativeTime atMs={problem.sinceMs} />
              </span>
            )}
            <span className={`${classes.mend} fixed`}>
              <Mend problem={problem} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Mend({ problem: { mend, nodeId, project, spider, scheduleId, jobId, status } }: { problem: Problem }) {
  if (mend === 'open_findings' && project !== null && spider !== null && jobId !== undefined)
    return (
      <>
        <DismissButton project={project} spider={spider} jobId={jobId} />
        <LinkButton to="/jobs" search={{ job: jobId }}>
          {texts.openJob}
        </LinkButton>
      </>
    )
  if (nodeId !== null && (mend === 'cordon_node' || mend === 'run_elsewhere'))
    return (
      <>
        {mend === 'cordon_node' ? <CordonButton nodeId={nodeId} /> : <RunElsewhere nodeId={nodeId} />}
        <LinkButton to="/nodes" search={{ node: nodeId }} variant="subtle" color="gray">
          {texts.openNode}
        </LinkButton>
      </>
    )
  if (nodeId !== null && mend === 'edit_node')
    return (
      <LinkButton to="/nodes" search={{ node: nodeId }}>
        {texts.openNode}
      </LinkButton>
    )
  if (mend === 'open_jobs') {
    const about = { project: project ?? undefined, spider: spider ?? undefined, node: nodeId ?? undefined }
    return (
      <LinkButton to="/jobs" search={{ ...about, status: status && [status] }}>
        {texts.showJobs}
      </LinkButton>
    )
  }
  if (mend === 'open_schedules')
    return (
      <LinkButton to="/schedules" search={{ schedule: scheduleId }}>
        {texts.openSchedule}
      </LinkButton>
    )
  if (mend === 'open_nodes') return <LinkButton to="/nodes">{texts.openNodes}</LinkButton>
  if (mend === 'open_discovery') return <LinkButton to="/nodes/sources">{texts.openSources}</LinkButton>
  if (mend === 'open_storage') return <LinkButton to="/settings">{texts.openStorage}</LinkButton>
  if (mend === 'create_environment') return <CreateEnvironment />
  if (mend === 'resume') return <ResumeButton />
  // The remaining problem is a project that names a Python that does not exist. The fix is in the project's settings.
  if (project === null) return null
  return (
    <LinkButton to="/projects" search={{ project }}>
      {texts.openProject}
    </LinkButton>
  )
}

function RunElsewhere({ nodeId }: { nodeId: NodeId }) {
  return <RunElsewhereButton nodeId={nodeId} nodeName={useNodeName()(nodeId)} />
}

function DismissButton(of: Pick<SpiderFindings, 'project' | 'spider' | 'jobId'>) {
  const { query } = useApi()
  const { may } = useMay('results.review')
  const { mutate, isPending } = useMutation(
    query.findings.dismiss.mutationOptions({
      onError: (error) => notifyError(texts.couldNotDismiss, error)
    })
  )
  if (!may) return null
  return (
    <Button variant="subtle" color="gray" loading={isPending} title={texts.dismissHint} onClick={() => mutate(of)}>
      {texts.dismiss}
    </Button>
  )
}

function CordonButton({ nodeId }: { nodeId: NodeId }) {
  const { client, query } = useApi()
  const node = useQuery(query.nodes.list.queryOptions()).data?.nodes.find(({ id }) => id === nodeId)
  const { may } = useMay('nodes.operate', node ?? 'everywhere')
  const { mutate, isPending } = useMutation(
    query.nodes.setMode.mutationOptions({
      onSuccess: (node) =>
        notifyUndo(texts.nodeCordonedNotice(node.name), () => client.nodes.setMode({ id: nodeId, mode: 'active' })),
      onError: (error) => notifyError(texts.couldNotCordon, error)
    })
  )
  if (!may) return null
  return (
    <Button loading={isPending} onClick={() => mutate({ id: nodeId, mode: 'cordoned' })}>
      {texts.cordon}
    </Button>
  )
}

function ResumeButton() {
  const { pending, may, toggle } = usePauseSwitch()
  if (!may) return null
  return (
    <Button loading={pending} onClick={toggle}>
      {texts.resume}
    </Button>
  )
}
