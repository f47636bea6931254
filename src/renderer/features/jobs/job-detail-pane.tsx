import { ActionIcon, Button, Flex, Group, Stack, Tabs, Tooltip } from '@mantine/core'
import { IconArrowsDiagonal, IconArrowsDiagonalMinimize2, IconHandStop, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Attempt, AttemptNumber, Job, JobDetail, JobId, WaitingCode } from '../../../shared/contract/index.ts'
import { ownParts } from '../../../shared/job-defaults.ts'
import { shortId } from '../../../shared/ids.ts'
import { stopsOf } from '../../../shared/stop-ladder.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { useMay } from '../../api/use-me.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { useNow } from '../../ui/clock.ts'
import { undoCancel, usePendingCancels } from '../../ui/cancel-grace.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DetailPane } from '../../ui/panel.tsx'
import { TellMe } from '../../ui/tell-me.tsx'
import { ReasonText } from '../../ui/reason-text.tsx'
import { QueryState } from '../../ui/states.tsx'
import { formatInstant, RelativeTime, Runtime } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { WaitingText } from '../../ui/waiting.tsx'
import { Dependencies, JobArguments } from './job-arguments.tsx'
import { JobAttempts } from './job-attempts.tsx'
import { isCancelling } from './cancel-cell.tsx'
import { CancelSteps } from './cancel-steps.tsx'
import { type Away, type AwayOf, JobStatusCell } from './job-columns.tsx'
import classes from './job-detail-pane.module.css'
import { JobFindings } from './job-findings.tsx'
import { JobItems } from './job-items.tsx'
import { JobLog } from './job-log.tsx'
import { JobSchedule } from './job-schedule.tsx'
import { JobStats } from './job-stats.tsx'
import { JobTimeline } from './job-timeline.tsx'
import { LastError } from './last-error.tsx'
import type { JobActions } from './use-job-actions.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

interface JobDetailPaneProps {
  jobId: JobId
  tab: string | undefined
  nodeName: (id: string) => string
  awayOf: AwayOf
  actions: JobActions
  onTab: (tab: string) => void
  onOpen: (id: JobId) => void
  onClose: () => void
}

const unknownOf = (away: Away | null) =>
  away === null || away.unknownSinceMs === null
    ? null
    : { sinceMs: away.unknownSinceMs, lastSeenAtMs: away.lastSeenAtMs }

const TABS = {
  timeline: texts.timeline,
  log: texts.log,
  items: texts.items,
  stats: texts.stats,
  arguments: texts.arguments,
  attempts: texts.attempts
} as const

export function JobDetailPane({ jobId, tab, nodeName, awayOf, actions, onTab, onOpen, onClose }: JobDetailPaneProps) {
  const api = useApi()
  const detail = useQuery(api.query.jobs.get.queryOptions({ input: { id: jobId } }))
  const { may } = useMay('jobs.run', detail.data?.job ?? 'somewhere')
  const [isWide, setWide] = useWide()
  const [attemptNumber, setAttemptNumber] = useState<AttemptNumber>()
  const chosen = { attemptNumber, onAttempt: setAttemptNumber }
  const shown = tab !== undefined && tab in TABS ? tab : 'timeline'
  useKeys(texts.job, [
    { key: 'z', label: isWide ? texts.makePaneNarrower : texts.makePaneWider, run: () => setWide(!isWide) }
  ])

  return (
    <Group
      align="stretch"
      gap={0}
      wrap="nowrap"
      mih={0}
      className={`${classes.pane} fixed`}
      data-wide={isWide || undefined}
    >
      <DetailPane label={texts.job}>
        <Group align="stretch" gap={2} wrap="nowrap" className={classes.corner}>
          <Tooltip label={isWide ? texts.narrowerZ : texts.widerZ}>
            <ActionIcon
              className={classes.widen}
              onClick={() => setWide(!isWide)}
              aria-label={isWide ? texts.narrower : texts.wider}
            >
              {isWide ? <IconArrowsDiagonalMinimize2 size={15} /> : <IconArrowsDiagonal size={15} />}
            </ActionIcon>
          </Tooltip>
          <Tooltip label={texts.closeEsc}>
            <ActionIcon onClick={onClose} aria-label={texts.closeJob}>
              <IconX size={16} />
            </ActionIcon>
          </Tooltip>
        </Group>
        <QueryState query={detail} what={texts.theJob} rows={10}>
          {(data: JobDetail) => (
            <>
              <JobHead
                job={data.job}
                attempt={data.attempts.at(-1)}
                nodeName={nodeName}
                away={awayOf(data.job)}
                onElsewhere={may ? () => void actions.runElsewhere([data.job]) : null}
                onOpen={onOpen}
              />
              {isCancelling(data.job) && <CancelSteps timeline={data.timeline} />}
              <JobButtons detail={data} actions={actions} onOpen={onOpen} />
              <Tabs
                value={shown}
                onChange={(value) => value !== null && onTab(value)}
                className={`${classes.tabs} column grow`}
              >
                <Tabs.List>
                  {Object.entries(TABS).map(([value, label]) => (
                    <Tabs.Tab key={value} value={value}>
                      {label}
                      {value === 'attempts' && data.attempts.length > 1 && (
                        <span className={`${classes.count} faint`}>{data.attempts.length}</span>
                      )}
                    </Tabs.Tab>
                  ))}
                </Tabs.List>
                <Tabs.Panel value="timeline" className={classes.panel}>
                  <JobTimeline detail={data} nodeName={nodeName} unknown={unknownOf(awayOf(data.job))} />
                </Tabs.Panel>
                <Tabs.Panel value="log" className={`${classes.logPanel} column grow`}>
                  <JobLog detail={data} nodeName={nodeName} {...chosen} />
                </Tabs.Panel>
                <Tabs.Panel value="items" className={`${classes.logPanel} column grow`}>
                  <JobItems detail={data} nodeName={nodeName} {...chosen} />
                </Tabs.Panel>
                <Tabs.Panel value="stats" className={classes.panel}>
                  <JobStats detail={data} />
                </Tabs.Panel>
                <Tabs.Panel value="arguments" className={classes.panel}>
                  <JobArguments job={data.job} nodeName={nodeName} onOpen={onOpen} />
                </Tabs.Panel>
                <Tabs.Panel value="attempts" className={classes.panel}>
                  <JobAttempts
                    detail={data}
                    nodeName={nodeName}
                    onLog={(number) => {
                      setAttemptNumber(number)
                      onTab('log')
                    }}
                  />
                </Tabs.Panel>
              </Tabs>
            </>
          )}
        </QueryState>
      </DetailPane>
    </Group>
  )
}

interface JobHeadProps {
  job: Job
  attempt: Attempt | undefined
  nodeName: (id: string) => string
  away: Away | null
  onElsewhere: (() => void) | null
  onOpen: (id: JobId) => void
}

function JobHead({ job, attempt, nodeName, away, onElsewhere, onOpen }: JobHeadProps) {
  const unknownSinceMs = away?.unknownSinceMs ?? null
  // If the job has no version, show the version that was sent to the node.
  const version = job.version ?? attempt?.version ?? null
  // The node reports no version for an adopted run.
  const versionWords =
    version === null ? texts.activeVersion : version === '' ? texts.unknownVersion : texts.versionNamed(version)
  const limitHit = job.outcome === 'failed' ? (attempt?.limitHit ?? null) : null
  return (
    <Flex component="header" direction="column" gap={6}>
      <Group gap={10} wrap="nowrap" miw={0} pr={64}>
        <JobStatusCell job={job} away={away} />
        <h2 className={`${classes.name} ellipsis`} title={`${job.project}/${job.spider}`}>
          {job.project}/{job.spider}
        </h2>
      </Group>
      <Flex component="p" align="center" gap="0 12px" wrap="wrap" m={0} className={`${classes.facts} dim`}>
        {job.reason !== null && limitHit === null && <ReasonText job={job} />}
        {job.nodeId !== null && (
          <span>
            {/* A job that returned to the queue is on no node. */}
            {job.state === 'queued' ? texts.lastOnNode(nodeName(job.nodeId)) : nodeName(job.nodeId)}
            {away !== null && <> {texts.lastKnownState(<span className="tone-bad">{away.word}</span>)}</>}
          </span>
        )}
        {job.startedAtMs !== null && (
          <Runtime startedAtMs={job.startedAtMs} endedAtMs={job.endedAtMs ?? away?.lastSeenAtMs ?? null} />
        )}
        <span>{versionWords}</span>
        <JobSchedule job={job} />
      </Flex>
      {limitHit !== null && (
        <Group align="stretch" gap={8} wrap="nowrap" className={`${classes.limitHit} notice-bad`}>
          <IconHandStop size={16} aria-hidden />
          <div>
            <strong>{texts.stoppedByLimit(limitHit)}</strong>
            <p>
              {texts.stoppedByLimitHint(
                <Link to="/projects" search={{ project: job.project }}>
                  {job.project}
                </Link>
              )}
            </p>
          </div>
        </Group>
      )}
      {unknownSinceMs !== null && (
        <Stack gap={8} className="notice-lost">
          <p>
            {texts.unreachableHint(
              job.nodeId === null ? texts.theNode : nodeName(job.nodeId),
              <RelativeTime atMs={unknownSinceMs} />
            )}
          </p>
          {onElsewhere !== null && (
            <Group gap="4px 10px" className="dim">
              <Button onClick={onElsewhere}>{texts.runElsewhere}</Button>
              <span>{texts.itMayThenRunTwice}</span>
            </Group>
          )}
        </Stack>
      )}
      {job.mayHaveRunTwice && (
        <p className="notice-lost">
          <strong>{texts.mayHaveRunTwiceTitle}</strong> {texts.mayHaveRunTwiceText}
        </p>
      )}
      {job.outcome === 'unclear' && (
        <p className="notice-lost">
          <strong>{texts.unclearTitle}</strong> {texts.unclearText}
        </p>
      )}
      {job.outcome === 'succeeded' && <JobFindings jobId={job.id} />}
      {job.killingLine !== null && <LastError job={job} line={job.killingLine} />}
      {job.state === 'queued' && job.waiting !== null && (
        <div className={`${classes.waits} notice-wait tone-wait break`}>
          <span className="visually-hidden">{texts.waitingPrefix}</span>
          {job.waiting.code === 'dependency' && job.after.length > 0 ? (
            texts.waitingUntil(<Dependencies after={job.after} onOpen={onOpen} />)
          ) : (
            <WaitingText waiting={job.waiting} />
          )}
          {job.hold === 'retry' && job.retry !== null && (
            <span> · {texts.attemptOf(job.attemptCount + 1, job.retry.attempts)}</span>
          )}
          <WaitingLink job={job} code={job.waiting.code} />
          {job.expiresAtMs !== null && <Expiry atMs={job.expiresAtMs} />}
        </div>
      )}
    </Flex>
  )
}

const WAITING_LINKS: Partial<Record<WaitingCode, { to: '/queue' | '/projects' | '/nodes'; word: string }>> = {
  limit: { to: '/queue', word: texts.showLimits },
  project_paused: { to: '/queue', word: texts.resumeProject },
  egg_refused: { to: '/projects', word: texts.showProject },
  version_missing: { to: '/projects', word: texts.showProject },
  python_not_ready: { to: '/projects', word: texts.showPython },
  nodes_down: { to: '/nodes', word: texts.showNodes },
  nodes_cordoned: { to: '/nodes', word: texts.showNodes }
}

function WaitingLink({ job, code }: { job: Job; code: WaitingCode }) {
  const link = WAITING_LINKS[code]
  if (link === undefined) return null
  return (
    <>
      {' · '}
      <Link to={link.to} search={link.to === '/projects' ? { project: job.project } : {}}>
        {link.word}
      </Link>
    </>
  )
}

function Expiry({ atMs }: { atMs: number }) {
  return <p title={formatInstant(atMs)}>{texts.cancelledIfNotSent(formatMoment(atMs, useNow()))}</p>
}

interface JobButtonsProps {
  detail: JobDetail
  actions: JobActions
  onOpen: (id: JobId) => void
}

function JobButtons({ detail, actions, onOpen }: JobButtonsProps) {
  const { job } = detail
  const { next } = stopsOf(detail.timeline)
  const mayRun = useMay('jobs.run', job).may
  const mayCancel = useMay('jobs.cancel', job).may
  const mayKeep = useMay('results.review', job).may
  const mayOrder = useMay('queue.order', job).may
  const [isBusy, setBusy] = useState(false)
  const isPending = usePendingCancels(({ byId }) => byId.has(job.id))
  const act = (work: Promise<unknown>) => {
    setBusy(true)
    void work.finally(() => setBusy(false))
  }
  const again = () =>
    openRunDialog({
      project: job.project,
      version: job.version,
      spiders: [job.spider],
      ...ownParts(detail),
      limits: job.limits,
      retry: job.retry,
      noOverlap: job.noOverlap
    })
  return (
    <Group gap={8}>
      {mayCancel && job.state !== 'ended' && !isCancelling(job) && (
        <Button disabled={isBusy} onClick={() => (isPending ? undoCancel(job.id) : act(actions.cancelOne(job)))}>
          {isPending ? texts.undoCancel : texts.cancel}
        </Button>
      )}
      {mayCancel && isCancelling(job) && (
        <Button
          color="red"
          variant="filled"
          disabled={isBusy}
          title={next === null ? texts.stopNowSecondIntHint : texts.stopNowHint(next.signal)}
          onClick={() => act(actions.cancelOne(job, true))}
        >
          {texts.stopNow}
        </Button>
      )}
      {mayKeep && (
        <Button
          disabled={isBusy}
          aria-pressed={job.kept}
          title={job.kept ? texts.releaseHint : texts.keepHint}
          onClick={() => act(actions.keepOne(job, !job.kept))}
        >
          {job.kept ? texts.kept : texts.keep}
        </Button>
      )}
      {mayRun && job.state === 'ended' && (
        <Button
          disabled={isBusy}
          title={texts.retryJobHint}
          onClick={() =>
            act(
              actions.retryOne(job).then((made) => {
                if (made !== null) onOpen(made.id)
              })
            )
          }
        >
          {texts.retry}
        </Button>
      )}
      {mayRun && (
        <Button
          variant={isCancelling(job) ? 'subtle' : undefined}
          color={isCancelling(job) ? 'gray' : undefined}
          onClick={again}
        >
          {texts.runAgain}
        </Button>
      )}
      {mayOrder && job.state === 'queued' && (
        <>
          <Button title={texts.toFrontHint} onClick={() => void actions.reorder([job], 'front')}>
            {texts.toFront}
          </Button>
          <Button title={texts.toBackHint} onClick={() => void actions.reorder([job], 'back')}>
            {texts.toBack}
          </Button>
        </>
      )}
      <TellMe of={{ project: job.project, spider: job.spider }} variant="subtle" color="gray" />
      <Flex component="span" display="inline-flex" align="center" gap={2} miw={0} maw={260} className="push dim">
        <span className="mono ellipsis" title={job.jobid}>
          {job.jobid === job.id ? shortId(job.id) : job.jobid}
        </span>
        <CopyButton value={job.jobid} what={texts.theJobId} />
      </Flex>
    </Group>
  )
}

const WIDE_KEY = 'scrapdeck.job-detail.wide'

/** Stored locally: a preferred width does not belong in the URL. */
function useWide(): [boolean, (isWide: boolean) => void] {
  const [isWide, setWide] = useState(() => localStorage.getItem(WIDE_KEY) === 'yes')
  return [
    isWide,
    (next) => {
      localStorage.setItem(WIDE_KEY, next ? 'yes' : 'no')
      setWide(next)
    }
  ]
}
