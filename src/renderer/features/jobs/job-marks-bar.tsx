import { ActionIcon, Button, Group, Menu, NumberInput, Popover, SegmentedControl, Stack } from '@mantine/core'
import {
  IconArrowBarToDown,
  IconArrowBarToUp,
  IconArrowsShuffle,
  IconChevronDown,
  IconPlayerStop,
  IconRefresh,
  IconX
} from '@tabler/icons-react'
import { memo, type ReactNode, useMemo, useState } from 'react'
import { useMay } from '../../api/use-me.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import type { Job, NodeId, Placement } from '../../../shared/contract/index.ts'
import { DownloadLogsButton } from './download-logs-button.tsx'
import classes from './jobs-screen.module.css'
import type { JobActions } from './use-job-actions.ts'
import { optionsOf } from '../../ui/fields/choice-field.tsx'
import { MultiSelect, Select } from '../../ui/fields/select.tsx'
import { usePriorityLimit } from '../../ui/fields/priority-limit.ts'
import { texts } from '../../../shared/texts/ui/jobs.ts'

/** With at least this many running jobs, a dialog asks for confirmation. */
const MANY_RUNNING = 6
/** The z-index of menus, which must not open behind the notice of an earlier action. */
const OVER_NOTICES = 500

interface JobMarksBarProps {
  marked: readonly Job[]
  isUnknown: (job: Job) => boolean
  nodes: ReadonlyArray<{ id: NodeId; name: string; tags: readonly string[] }>
  actions: JobActions
  onClear: () => void
  /** Marks all jobs that match the filter. null: all of them are marked. */
  everything: { count: number | null; isReading: boolean; read: number; onMark: () => void } | null
}

type Asking = 'cancel' | 'force' | 'elsewhere'

export const JobMarksBar = memo(function JobMarksBar(props: JobMarksBarProps) {
  const { marked, isUnknown, nodes, actions, onClear, everything } = props
  const toCancel = useMay('jobs.cancel')
  const toRun = useMay('jobs.run')
  const mayOrder = useMay('queue.order').may
  const [asking, setAsking] = useState<Asking | null>(null)
  const groups = useMemo(() => groupsOf(marked, isUnknown), [marked, isUnknown])
  const { live, queued, running, unknown, beingCancelled, ended } = groups

  const start = (work: Promise<unknown> | void) => {
    setAsking(null)
    onClear()
    void work
  }
  const cancel = (force: boolean) => start(actions.cancel(force ? running : live, force))
  const ask = (force: boolean) =>
    running.length >= MANY_RUNNING ? setAsking(force ? 'force' : 'cancel') : cancel(force)

  return (
    <Group gap={8} className={classes.marks} role="toolbar" aria-label={texts.selectedJobs}>
      <strong>{texts.jobsSelected(marked.length)}</strong>
      {everything !== null && (
        <Button variant="subtle" loading={everything.isReading} onClick={everything.onMark}>
          {everything.isReading
            ? texts.jobsRead(everything.read)
            : everything.count === null
              ? texts.selectAllMatches
              : texts.selectAll(everything.count)}
        </Button>
      )}
      <Button
        leftSection={<IconPlayerStop size={14} />}
        disabled={!toCancel.may || live.length === 0}
        title={toCancel.why ?? (live.length === 0 ? texts.nothingToCancel : undefined)}
        onClick={() => ask(false)}
      >
        {texts.cancelCount(live.length)}
      </Button>
      {toCancel.may && beingCancelled.length > 0 && (
        <Button onClick={() => ask(true)}>{texts.stopCountNow(running.length)}</Button>
      )}
      <Button
        leftSection={<IconRefresh size={14} />}
        disabled={!toRun.may || ended.length === 0}
        title={toRun.why ?? (ended.length === 0 ? texts.nothingToRetry : texts.retryHint)}
        onClick={() => start(actions.retry(ended))}
      >
        {texts.retryCount(ended.length)}
      </Button>
      <DownloadLogsButton jobs={marked} />
      {toRun.may && unknown.length > 0 && (
        <Button
          leftSection={<IconArrowsShuffle size={14} />}
          title={texts.runElsewhereHint}
          onClick={() => setAsking('elsewhere')}
        >
          {texts.runCountElsewhere(unknown.length)}
        </Button>
      )}
      {mayOrder && queued.length > 0 && (
        <>
          <Menu position="top" zIndex={OVER_NOTICES}>
            <Menu.Target>
              <Button rightSection={<IconChevronDown size={13} />}>{texts.order}</Button>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Label>{texts.queuedJobs(queued.length)}</Menu.Label>
              <Menu.Item
                leftSection={<IconArrowBarToUp size={14} />}
                onClick={() => start(actions.reorder(queued, 'front'))}
              >
                {texts.moveToFront}
              </Menu.Item>
              <Menu.Item
                leftSection={<IconArrowBarToDown size={14} />}
                onClick={() => start(actions.reorder(queued, 'back'))}
              >
                {texts.moveToBack}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
          <PriorityButton queued={queued} onSet={(priority) => start(actions.setPriority(queued, priority))} />
          <MoveButton
            queued={queued}
            nodes={nodes}
            onMove={(placement, where) => start(actions.place(queued, placement, where))}
          />
        </>
      )}
      <ActionIcon
        className={classes.clearMarks}
        aria-label={texts.clearSelection}
        title={texts.clearSelectionEsc}
        onClick={onClear}
      >
        <IconX size={15} />
      </ActionIcon>
      {asking !== null && (
        <ConfirmDialog
          title={titleOf(asking, groups)}
          act={{ cancel: texts.cancelJobs, force: texts.stopNow, elsewhere: texts.runElsewhere }[asking]}
          onAct={() => (asking === 'elsewhere' ? start(actions.runElsewhere(unknown)) : cancel(asking === 'force'))}
          focusesAct
          keep={texts.keepJobs}
          onClose={() => setAsking(null)}
        >
          {textOf(asking, groups)}
        </ConfirmDialog>
      )}
    </Group>
  )
})

type Groups = Record<'live' | 'queued' | 'running' | 'unknown' | 'beingCancelled' | 'ended', Job[]>

function groupsOf(marked: readonly Job[], isUnknown: (job: Job) => boolean): Groups {
  const groups: Groups = { live: [], queued: [], running: [], unknown: [], beingCancelled: [], ended: [] }
  for (const job of marked) {
    if (job.state === 'ended') groups.ended.push(job)
    else {
      groups.live.push(job)
      if (job.state === 'queued') groups.queued.push(job)
      else {
        groups.running.push(job)
        if (job.cancelAskedAtMs !== null) groups.beingCancelled.push(job)
        if (isUnknown(job)) groups.unknown.push(job)
      }
    }
  }
  return groups
}

function titleOf(asking: Asking, { live, running, unknown }: Groups): string {
  if (asking === 'elsewhere') return texts.runElsewhereTitle(unknown.length)
  return texts.cancelTitle(asking === 'force' ? running.length : live.length)
}

function textOf(asking: Asking, { live, running, unknown }: Groups): string {
  if (asking === 'elsewhere') return texts.runElsewhereText(unknown.length)
  if (asking === 'force') return texts.stopNowText(running.length)
  const queued = live.length - running.length
  return [texts.cancelText(running.length), ...(queued > 0 ? [texts.cancelQueuedText(queued)] : [])].join(' ')
}

interface PopoverFormProps {
  word: string
  title: string
  act: string
  isReady?: boolean
  onOpen?: () => void
  onSubmit: () => void
  children: ReactNode
}

function PopoverForm({ word, title, act, isReady = true, onOpen, onSubmit, children }: PopoverFormProps) {
  const [isOpen, setOpen] = useState(false)
  const toggle = () => {
    if (!isOpen) onOpen?.()
    setOpen(!isOpen)
  }
  return (
    <Popover opened={isOpen} onChange={setOpen} position="top" shadow="md" zIndex={OVER_NOTICES} width={290} trapFocus>
      <Popover.Target>
        <Button rightSection={<IconChevronDown size={13} />} onClick={toggle}>
          {word}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack
          component="form"
          gap={10}
          onSubmit={(event) => {
            event.preventDefault()
            setOpen(false)
            onSubmit()
          }}
        >
          <span className="dim">{title}</span>
          {children}
          <Button type="submit" variant="filled" disabled={!isReady}>
            {act}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function PriorityButton({ queued, onSet }: { queued: readonly Job[]; onSet: (priority: number) => void }) {
  const [priority, setPriority] = useState(0)
  const { max, reason, title: why } = usePriorityLimit('queue.order')
  const showShared = () => {
    const [first] = queued
    const shared = queued.every((job) => job.priority === first?.priority) ? (first?.priority ?? 0) : 0
    setPriority(Math.min(shared, max ?? shared))
  }
  const title = texts.priorityTitle(queued.length)
  return (
    <PopoverForm
      word={texts.priority}
      title={title}
      act={texts.setPriority}
      onOpen={showShared}
      onSubmit={() => onSet(priority)}
    >
      <NumberInput
        aria-label={title}
        description={reason ?? texts.priorityHint}
        title={why}
        value={priority}
        {...(max !== undefined && { max, clampBehavior: 'strict' as const })}
        onChange={(value) => setPriority(Number(value) || 0)}
        data-autofocus
      />
    </PopoverForm>
  )
}

interface MoveButtonProps {
  queued: readonly Job[]
  nodes: JobMarksBarProps['nodes']
  onMove: (placement: Placement, where: string) => void
}

function MoveButton({ queued, nodes, onMove }: MoveButtonProps) {
  const [kind, setKind] = useState<'any' | 'tags' | 'node'>('node')
  const [nodeId, setNodeId] = useState<string | null>(null)
  const [tags, setTags] = useState<string[]>([])
  const node = nodes.find(({ id }) => id === nodeId)
  const move = () => {
    if (kind === 'any') onMove({ nodeId: null, tags: [] }, texts.anyNode)
    else if (kind === 'tags')
      onMove({ nodeId: null, tags }, texts.nodesWithTags(tags.map((tag) => `#${tag}`).join(' ')))
    else if (node !== undefined) onMove({ nodeId: node.id, tags: [] }, node.name)
  }
  return (
    <PopoverForm
      word={texts.move}
      title={texts.moveTitle(queued.length)}
      act={texts.moveJobs(queued.length)}
      isReady={kind === 'any' || (kind === 'tags' ? tags.length > 0 : node !== undefined)}
      onSubmit={move}
    >
      <SegmentedControl
        aria-label={texts.placement}
        value={kind}
        onChange={setKind}
        data={optionsOf({ node: texts.oneNode, tags: texts.byTag, any: texts.anyNodeOption })}
      />
      {kind === 'node' && (
        <Select
          aria-label={texts.node}
          placeholder={texts.chooseNode}
          searchable
          limit={100}
          value={nodeId}
          onChange={setNodeId}
          data={nodes.map(({ id, name }) => ({ value: id, label: name }))}
          comboboxProps={{ withinPortal: false }}
        />
      )}
      {kind === 'tags' && (
        <MultiSelect
          aria-label={texts.tags}
          placeholder={tags.length === 0 ? texts.tagsPlaceholder : undefined}
          searchable
          hidePickedOptions
          value={tags}
          onChange={setTags}
          data={[...new Set(nodes.flatMap((each) => each.tags))].sort()}
          comboboxProps={{ withinPortal: false }}
        />
      )}
    </PopoverForm>
  )
}
