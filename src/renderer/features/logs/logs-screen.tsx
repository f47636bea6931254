import { ActionIcon, Tooltip } from '@mantine/core'
import { IconListDetails, IconTerminal2, IconX } from '@tabler/icons-react'
import { useQueries } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type { Job, JobDetail, JobId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { LogTerminal } from '../../terminal/log-terminal.tsx'
import { joinFacts } from '../../ui/join-facts.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusIcon } from '../../ui/status.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { JobPicker } from './job-picker.tsx'
import classes from './logs-screen.module.css'
import { closeTab, openTab, tabsOf } from './log-tabs.ts'

const route = getRouteApi('/logs')

/** Recently shown logs stay mounted in the background with their position; older ones are opened again. */
const MOST_ALIVE = 4

/** Live logs in tabs; the open ones are in the address. */
export function LogsScreen() {
  const api = useApi()
  const tabs = tabsOf(route.useSearch())
  const navigate = route.useNavigate()
  const [isPicking, setPicking] = useState(false)
  const alive = useLately(tabs.front)
  const details = useQueries({ queries: tabs.open.map((id) => api.query.jobs.get.queryOptions({ input: { id } })) })
  const nodeName = useNodeName()
  const nameOf = (job: Job | undefined) => {
    if (job === undefined) return '…'
    return joinFacts(`${job.project}/${job.spider}`, job.nodeId !== null && nodeName(job.nodeId))
  }
  const detailOf = (id: JobId) => details[tabs.open.indexOf(id)]?.data
  const go = (next: typeof tabs) =>
    void navigate({ search: { jobs: next.open, job: next.front ?? undefined }, replace: true })
  const step = (by: number) => {
    const at = tabs.front === null ? -1 : tabs.open.indexOf(tabs.front)
    const next = tabs.open[(at + by + tabs.open.length) % tabs.open.length]
    if (next !== undefined) go({ ...tabs, front: next })
  }
  useKeys('Logs', [
    { key: 'o', label: 'Open log', run: () => setPicking(true) },
    { key: '[', label: 'Previous log', run: () => step(-1) },
    { key: ']', label: 'Next log', run: () => step(1) },
    { key: 'X', label: 'Close log', run: () => tabs.front !== null && go(closeTab(tabs, tabs.front)) }
  ])
  const picker = (
    <JobPicker isOpen={isPicking} onOpenChange={setPicking} onPick={(id) => go(openTab(tabs, id))} open={tabs.open} />
  )

  return (
    <div className={classes.screen}>
      <h1 className="visually-hidden">Logs</h1>
      {tabs.open.length > 0 && (
        <div className={classes.tabBar}>
          <div className={classes.tabs} role="tablist" aria-label="Open logs">
            {tabs.open.map((id, index) => (
              <Tab
                key={id}
                job={detailOf(id)?.job}
                name={details[index]?.isError ? 'unknown job' : nameOf(detailOf(id)?.job)}
                isFront={id === tabs.front}
                onShow={() => go({ ...tabs, front: id })}
                onClose={() => go(closeTab(tabs, id))}
              />
            ))}
          </div>
          <LinkButton to="/logs/search" variant="default">
            Search all logs
          </LinkButton>
          {picker}
        </div>
      )}
      {tabs.open.length === 0 && (
        <EmptyState
          icon={<IconTerminal2 size={28} />}
          title="No open logs"
          action={
            <>
              {picker}
              <LinkButton to="/logs/search" variant="default">
                Search all logs
              </LinkButton>
            </>
          }
        >
          Follow the logs of several jobs in tabs. Choose a running or recently ended job.
        </EmptyState>
      )}
      {tabs.open
        .filter((id) => id === tabs.front || alive.includes(id))
        .map((id) => (
          <div
            key={id}
            className={classes.panel}
            role="tabpanel"
            aria-label={nameOf(detailOf(id)?.job)}
            hidden={id !== tabs.front}
          >
            <LogOfJob id={id} detail={detailOf(id)} name={nameOf(detailOf(id)?.job)} isFront={id === tabs.front} />
          </div>
        ))}
    </div>
  )
}

interface TabProps {
  job: Job | undefined
  name: string
  isFront: boolean
  onShow: () => void
  onClose: () => void
}

function Tab({ job, name, isFront, onShow, onClose }: TabProps) {
  return (
    <span
      className={classes.tab}
      data-front={isFront || undefined}
      onAuxClick={(event) => event.button === 1 && onClose()}
    >
      <button type="button" role="tab" aria-selected={isFront} onClick={onShow}>
        {job !== undefined && <StatusIcon status={job.status} size={12} />}
        <span className="ellipsis">{name}</span>
      </button>
      <ActionIcon size={20} onClick={onClose} aria-label={`Close log of ${name}`}>
        <IconX size={12} />
      </ActionIcon>
    </span>
  )
}

interface LogOfJobProps {
  id: JobId
  detail: JobDetail | undefined
  name: string
  isFront: boolean
}

function LogOfJob({ id, detail, name, isFront }: LogOfJobProps) {
  const api = useApi()
  const job = detail?.job
  const attemptNumber = detail?.attempts.at(-1)?.number
  return (
    <LogTerminal
      key={attemptNumber ?? 0}
      client={api.client}
      jobId={id}
      attemptNumber={attemptNumber}
      title={name}
      fileName={`${name}-${id}.log`.replace(/[^\w.-]+/g, '-')}
      waitingText={
        job?.state === 'queued'
          ? `The log starts when the job runs. Waiting: ${job.waiting?.text ?? 'next in queue'}.`
          : 'The log is empty so far.'
      }
      hasKeys={isFront}
      hasSearchKey
      extraActions={
        <Tooltip label="Show job">
          <ActionIcon component={Link} to="/jobs" search={{ job: id } as never} aria-label="Show job">
            <IconListDetails size={16} />
          </ActionIcon>
        </Tooltip>
      }
    />
  )
}

/** The last few that were in front. */
function useLately(front: string | null): readonly string[] {
  const [lately, setLately] = useState<readonly string[]>([])
  useEffect(() => {
    if (front !== null) setLately((before) => [front, ...before.filter((id) => id !== front)].slice(0, MOST_ALIVE))
  }, [front])
  return lately
}
