import { Button, Loader, Popover, Stack, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { OUTCOMES } from '../../../shared/choices.ts'
import type { Job, JobId, JobStatus } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { explainError } from '../../api/explain-error.ts'
import { StatusIcon } from '../../ui/status.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import classes from './logs-screen.module.css'
import { texts } from '../../../shared/texts/ui/logs.ts'

interface JobPickerProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  onPick: (id: JobId) => void
  open: readonly JobId[]
}

/** Jobs that have a log: running jobs first, then the newest. Typing searches project, spider and id. */
export function JobPicker({ isOpen, onOpenChange, onPick, open }: JobPickerProps) {
  return (
    <Popover
      opened={isOpen}
      onChange={onOpenChange}
      position={open.length === 0 ? 'bottom' : 'bottom-end'}
      width={380}
      shadow="md"
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <Button
          variant={open.length === 0 ? 'filled' : 'default'}
          className={classes.button}
          leftSection={<IconPlus size={14} />}
          onClick={() => onOpenChange(!isOpen)}
          aria-expanded={isOpen}
          aria-label={texts.openLog}
        >
          <span className={classes.words}>{texts.openLog}</span>
        </Button>
      </Popover.Target>
      <Popover.Dropdown p={8}>
        {isOpen && (
          <Choices
            open={open}
            onPick={(id) => {
              onOpenChange(false)
              onPick(id)
            }}
          />
        )}
      </Popover.Dropdown>
    </Popover>
  )
}

function Choices({ open, onPick }: { open: readonly JobId[]; onPick: (id: JobId) => void }) {
  const api = useApi()
  const nodeName = useNodeName()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const filter = text.trim() === '' ? {} : { text: text.trim().slice(0, 200) }
  const listed = (status: JobStatus[]) =>
    api.query.jobs.list.queryOptions({ input: { ...filter, status, limit: 40 }, placeholderData: keepPreviousData })
  const running = useQuery(listed(['running']))
  const ended = useQuery(listed([...OUTCOMES]))
  const jobs = [...(running.data?.jobs ?? []), ...(ended.data?.jobs ?? [])].filter(
    ({ id, nodeId }) => nodeId !== null && !open.includes(id)
  )
  const chosen = Math.min(at, jobs.length - 1)
  const error = running.error ?? ended.error

  const onKeyDown = (event: KeyboardEvent) => {
    const job = jobs[chosen]
    if (event.key === 'ArrowDown') setAt(Math.min(jobs.length - 1, chosen + 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(0, chosen - 1))
    else if (event.key === 'Enter' && job !== undefined) onPick(job.id)
    else return
    event.preventDefault()
  }

  return (
    <Stack gap={6} className={classes.picker}>
      <TextInput
        data-autofocus
        placeholder={texts.findJobHint}
        aria-label={texts.findJob}
        role="combobox"
        aria-expanded
        aria-controls="log-choices"
        aria-activedescendant={jobs[chosen] === undefined ? undefined : `log-choice-${jobs[chosen].id}`}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
        rightSection={running.isFetching || ended.isFetching ? <Loader size={12} /> : undefined}
      />
      {error !== null && (
        <p className="tone-bad" role="alert">
          {explainError(error).text}
        </p>
      )}
      <div id="log-choices" role="listbox" aria-label={texts.jobsWithALog} className={classes.choices}>
        {jobs.map((job, index) => (
          <Choice
            key={job.id}
            job={job}
            node={nodeName(job.nodeId!)}
            isChosen={index === chosen}
            onPick={() => onPick(job.id)}
          />
        ))}
      </div>
      {jobs.length === 0 && !running.isPending && !ended.isPending && (
        <p className="dim">{text === '' ? texts.noJobsYet : texts.noMatchingJobs}</p>
      )}
    </Stack>
  )
}

interface ChoiceProps {
  job: Job
  node: string
  isChosen: boolean
  onPick: () => void
}

function Choice({ job, node, isChosen, onPick }: ChoiceProps) {
  return (
    <div
      id={`log-choice-${job.id}`}
      role="option"
      aria-selected={isChosen}
      className={classes.choice}
      onClick={onPick}
      ref={(element) => {
        if (isChosen) element?.scrollIntoView?.({ block: 'nearest' })
      }}
    >
      <StatusIcon status={job.status} size={13} />
      <span className="ellipsis">
        {job.project}/{job.spider}
      </span>
      <span className="faint ellipsis">{node}</span>
      <span className="nowrap faint push">
        <RelativeTime atMs={job.startedAtMs ?? job.queuedAtMs} />
      </span>
    </div>
  )
}
