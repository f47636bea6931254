import { ActionIcon, Group, Stack, Tooltip } from '@mantine/core'
import { IconArrowMerge, IconColumns2, IconListDetails, IconSearch, IconTerminal2, IconX } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Job, JobDetail, JobId, NodeId } from '../../../shared/contract/index.ts'
import { keptBytesOfCutLog } from '../../../shared/cut-log.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { useRunFigures } from '../../state/use-run-figures.ts'
import { LogTerminal } from '../../terminal/log-terminal.tsx'
import type { LineRange } from '../../terminal/log-view.ts'
import { MergedTerminal } from '../../terminal/merged-terminal.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusIcon } from '../../ui/status.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { JobPicker } from './job-picker.tsx'
import classes from './logs-screen.module.css'
import {
  closePane,
  closeTab,
  distinctNames,
  formatLines,
  type LogTabs,
  MOST_BESIDE,
  openTab,
  parseLines,
  searchOf,
  split,
  tabsOf
} from './log-tabs.ts'
import { texts } from '../../../shared/texts/ui/logs.ts'

const route = getRouteApi('/logs')

export function LogsScreen() {
  const api = useApi()
  const search = route.useSearch()
  const tabs = tabsOf(search)
  const navigate = route.useNavigate()
  const [isPicking, setPicking] = useState<'tab' | 'pane' | null>(null)
  const details = useQueries({ queries: tabs.open.map((id) => api.query.jobs.get.queryOptions({ input: { id } })) })
  const nodeName = useNodeName()
  const nameOf = (job: Job | undefined) => {
    if (job === undefined) return '…'
    return joinFacts(`${job.project}/${job.spider}`, job.nodeId !== null && nodeName(job.nodeId))
  }
  const detailOf = (id: JobId) => details[tabs.open.indexOf(id)]?.data
  const isUnknown = (id: JobId) => details[tabs.open.indexOf(id)]?.isError === true
  const names = distinctNames(tabs.open.map((id) => ({ id, name: nameOf(detailOf(id)?.job) })))
  const { isPending: areNodesUnknown } = useQuery(api.query.nodes.list.queryOptions())
  /**
   * Whether the job is known or could not be loaded. Opening the log earlier, without the attempt, would open it
   * twice.
   */
  const isKnown = (id: JobId) => !areNodesUnknown && (detailOf(id) !== undefined || isUnknown(id))
  const titleOf = (id: JobId) => (isUnknown(id) ? texts.unknownJob : names[tabs.open.indexOf(id)]!)
  const go = (next: LogTabs) => void navigate({ search: searchOf(next), replace: true })
  const step = (by: number) => {
    const at = tabs.front === null ? -1 : tabs.open.indexOf(tabs.front)
    const next = tabs.open[(at + by + tabs.open.length) % tabs.open.length]
    if (next !== undefined) go(openTab(tabs, next))
  }
  const mark = (lines: LineRange | null) => {
    const line = lines === null ? undefined : formatLines(lines)
    void navigate({ search: { ...searchOf(tabs), line }, replace: true })
  }
  const shown = tabs.front === null ? [] : [tabs.front, ...tabs.beside]
  const isSplit = tabs.beside.length > 0
  const merge = () => isSplit && go({ ...tabs, isMerged: !tabs.isMerged })
  useKeys(texts.logs, [
    { key: 'o', label: texts.openLog, run: () => setPicking('tab') },
    { key: 's', label: texts.showLogBeside, run: () => setPicking('pane') },
    { key: 'm', label: texts.mergeOrSeparate, run: merge },
    { key: '[', label: texts.previousLog, run: () => step(-1) },
    { key: ']', label: texts.nextLog, run: () => step(1) },
    { key: 'X', label: texts.closeLog, run: () => tabs.front !== null && go(closeTab(tabs, tabs.front)) }
  ])
  const picker = (
    <JobPicker
      isOpen={isPicking !== null}
      onOpenChange={(isOpen) => setPicking(isOpen ? 'tab' : null)}
      onPick={(id) => go(isPicking === 'pane' ? split(tabs, id) : openTab(tabs, id))}
      open={isPicking === 'pane' ? shown : tabs.open}
    />
  )

  return (
    <Stack gap={0} className={`${classes.screen} grow`}>
      <h1 className="visually-hidden">{texts.logs}</h1>
      {tabs.open.length > 0 && (
        <Group gap={10} wrap="nowrap" className={classes.tabBar}>
          <div className={`${classes.tabs} grow`} role="tablist" aria-label={texts.openLogs}>
            {tabs.open.map((id) => (
              <Tab
                key={id}
                job={detailOf(id)?.job}
                name={titleOf(id)}
                isFront={shown.includes(id)}
                onShow={() => go(openTab(tabs, id))}
                onClose={() => go(closeTab(tabs, id))}
              />
            ))}
          </div>
          {isSplit && (
            <Tooltip label={tabs.isMerged ? texts.separateHint : texts.mergeHint}>
              <ActionIcon onClick={merge} aria-label={texts.mergeLogs} aria-pressed={tabs.isMerged}>
                <IconArrowMerge size={16} />
              </ActionIcon>
            </Tooltip>
          )}
          {shown.length <= MOST_BESIDE && (
            <Tooltip label={texts.showLogBesideHint}>
              <ActionIcon onClick={() => setPicking('pane')} aria-label={texts.showAnotherLog}>
                <IconColumns2 size={16} />
              </ActionIcon>
            </Tooltip>
          )}
          <LinkButton
            to="/logs/search"
            variant="default"
            className={classes.button}
            leftSection={<IconSearch size={14} />}
            aria-label={texts.searchAllLogs}
          >
            <span className={classes.words}>{texts.searchAllLogs}</span>
          </LinkButton>
          {picker}
        </Group>
      )}
      {tabs.open.length === 0 && (
        <EmptyState
          icon={<IconTerminal2 size={28} />}
          title={texts.noOpenLogs}
          action={
            <>
              {picker}
              <LinkButton to="/logs/search" variant="default">
                {texts.searchAllLogs}
              </LinkButton>
            </>
          }
        >
          {texts.noOpenLogsHint}
        </EmptyState>
      )}
      <div className={classes.panes} data-count={tabs.isMerged ? 1 : shown.length}>
        {tabs.isMerged && shown.every(isKnown) && (
          <MergedTerminal
            key={shown.join(' ')}
            client={api.client}
            sources={mergedSources(
              shown.map((id) => ({ id, job: detailOf(id)?.job })),
              nodeName
            )}
            hasKeys
          />
        )}
        {!tabs.isMerged &&
          shown.map((id, index) => (
            <Stack key={id} gap={0} pos="relative" mih={0} className="grow" role="tabpanel" aria-label={titleOf(id)}>
              {isSplit && <PaneHead name={titleOf(id)} onClose={() => go(closePane(tabs, id))} />}
              {isKnown(id) && (
                <LogOfJob
                  id={id}
                  detail={detailOf(id)}
                  name={titleOf(id)}
                  isFront={index === 0}
                  line={index === 0 ? parseLines(search.line) : undefined}
                  onMark={(lines) => index === 0 && mark(lines)}
                />
              )}
            </Stack>
          ))}
      </div>
    </Stack>
  )
}

function mergedSources(logs: readonly { id: JobId; job: Job | undefined }[], nodeName: (id: NodeId) => string) {
  const names = distinctNames(
    logs.map(({ id, job }) => ({
      id,
      name: job?.spider ?? texts.unknown,
      node: job?.nodeId && nodeName(job.nodeId)
    }))
  )
  return logs.map(({ id }, index) => ({ jobId: id, name: names[index]! }))
}

function PaneHead({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <Group gap={8} justify="space-between" wrap="nowrap" className={`${classes.paneHead} dim`}>
      <span className="ellipsis">{name}</span>
      <ActionIcon size={20} onClick={onClose} aria-label={texts.closePane(name)}>
        <IconX size={12} />
      </ActionIcon>
    </Group>
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
      className={`${classes.tab} dim`}
      data-front={isFront || undefined}
      onAuxClick={(event) => event.button === 1 && onClose()}
    >
      <button type="button" role="tab" aria-selected={isFront} onClick={onShow} title={name}>
        {job !== undefined && <StatusIcon status={job.status} size={12} />}
        <span className="ellipsis">{name}</span>
      </button>
      <ActionIcon size={20} onClick={onClose} aria-label={texts.closeLogOf(name)}>
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
  line: LineRange | undefined
  onMark: (lines: LineRange | null) => void
}

function LogOfJob({ id, detail, name, isFront, line, onMark }: LogOfJobProps) {
  const api = useApi()
  const job = detail?.job
  const attemptNumber = detail?.attempts.at(-1)?.number
  const figures = useRunFigures(id, attemptNumber)
  return (
    <LogTerminal
      key={attemptNumber ?? 0}
      client={api.client}
      jobId={id}
      attemptNumber={attemptNumber}
      title={name}
      fileName={`${name}-${id}.log`.replace(/[^\w.-]+/g, '-')}
      waitingText={
        job?.state === 'queued' ? texts.logStartsLater(job.waiting?.text ?? texts.nextInQueue) : texts.logEmpty
      }
      records={figures?.records}
      isCut={keptBytesOfCutLog(detail?.timeline ?? [], attemptNumber) !== null}
      hasKeys={isFront}
      hasSearchKey={isFront}
      line={line}
      onMark={onMark}
      addressOf={(lines) => linkToLines(id, lines)}
      extraActions={
        <Tooltip label={texts.showJob}>
          <ActionIcon component={Link} to="/jobs" search={{ job: id } as never} aria-label={texts.showJob}>
            <IconListDetails size={16} />
          </ActionIcon>
        </Tooltip>
      }
    />
  )
}

function linkToLines(id: JobId, lines: LineRange): string {
  const search = new URLSearchParams({ jobs: id, job: id, line: formatLines(lines) })
  return `${window.location.href.split('#')[0]}#/logs?${search}`
}
