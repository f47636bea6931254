import { Button, Flex } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Job } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { Panel } from '../../ui/panel.tsx'
import { StatusIcon } from '../../ui/status.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import classes from './latest-failures.module.css'
import { texts } from '../../../shared/texts/ui/overview.ts'

const SHOWN = 8

export function LatestFailures() {
  const { query } = useApi()
  const { data } = useQuery(query.jobs.list.queryOptions({ input: { status: ['failed', 'lost'], limit: SHOWN } }))
  const nodeName = useNodeName()
  const jobs = (data?.jobs ?? []).toSorted((left, right) => (right.endedAtMs ?? 0) - (left.endedAtMs ?? 0))
  if (jobs.length === 0) return null
  return (
    <Panel
      title={texts.latestFailures}
      flush
      aside={
        <Link to="/jobs" search={{ status: ['failed', 'lost'] }} className={`${classes.all} link`}>
          {texts.showAll}
        </Link>
      }
    >
      <ul className="divided">
        {jobs.map((job) => (
          <li key={job.id} className={classes.failure}>
            <StatusIcon status={job.status} />
            <Link to="/jobs" search={{ job: job.id }} className="ellipsis link">
              <span className="dim">{job.project}/</span>
              {job.spider}
            </Link>
            {job.killingLine === null ? (
              <span className="ellipsis dim">{job.reason ?? job.outcome}</span>
            ) : (
              <span className="ellipsis mono dim" title={job.killingLine}>
                {job.killingLine}
              </span>
            )}
            <span className={`ellipsis faint ${classes.node}`}>{job.nodeId !== null && nodeName(job.nodeId)}</span>
            <span className="faint right">
              <RelativeTime atMs={job.endedAtMs} />
            </span>
            <Flex component="span" gap={4} className={classes.acts}>
              <LinkButton
                to="/logs"
                search={{ jobs: [job.id], job: job.id }}
                variant="subtle"
                color="gray"
                aria-label={texts.logOf(job.project, job.spider)}
              >
                {texts.log}
              </LinkButton>
              <RetryButton job={job} />
            </Flex>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function RetryButton({ job }: { job: Job }) {
  const { client, query } = useApi()
  const { may } = useMay('jobs.run')
  const { mutate, isPending } = useMutation(
    query.jobs.retry.mutationOptions({
      onSuccess: ({ jobs }) =>
        notifyUndo(texts.queuedAgain(job.project, job.spider), () =>
          client.jobs.cancel({ ids: jobs.map(({ id }) => id) })
        ),
      onError: (error) => notifyError(texts.couldNotRunAgain(job.project, job.spider), error)
    })
  )
  if (!may) return null
  return (
    <Button
      loading={isPending}
      onClick={() => mutate({ ids: [job.id] })}
      aria-label={texts.retryJob(job.project, job.spider)}
    >
      {texts.retry}
    </Button>
  )
}
