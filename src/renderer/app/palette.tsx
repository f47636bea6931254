import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight } from '@mantine/spotlight'
import {
  IconBox,
  IconCalendarTime,
  IconKeyboard,
  IconMoon,
  IconPlayerPause,
  IconPlayerPlay,
  IconPlus,
  IconSearch,
  IconServer2,
  IconSettings,
  IconSun
} from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Job } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'
import { openRunDialog } from '../state/run-dialog.ts'
import { nodeWord, StatusIcon } from '../ui/status.tsx'
import { RelativeTime } from '../ui/time.tsx'
import classes from './frame.module.css'
import { SCREENS } from './rail.tsx'
import { usePauseSwitch } from './use-pause-switch.ts'

interface Entry {
  id: string
  group: string
  label: string
  note?: ReactNode
  icon: ReactNode
  /** Further words it is found by. */
  words?: string
  run: () => void
}

const SHOWN_PER_GROUP = 8
const SCHEDULE_VIEWS = [
  { to: '/schedules/missed', label: 'Missed runs' },
  { to: '/schedules/calendar', label: 'Run calendar' },
  { to: '/schedules/load', label: 'Upcoming load' },
  { to: '/schedules/chains', label: 'Chains' }
] as const

/** Ctrl/Cmd-K: go anywhere, run any spider, find any job, schedule, node or project. */
export function Palette({ onShowKeys }: { onShowKeys: () => void }) {
  const [query, setQuery] = useState('')
  return (
    <Spotlight.Root
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      maxHeight={440}
      clearQueryOnClose
      transitionProps={{ duration: 0 }}
      overlayProps={{ backgroundOpacity: 0.35, blur: 0, transitionProps: { duration: 0 } }}
    >
      <Spotlight.Search
        placeholder="Search or run a command…"
        leftSection={<IconSearch size={16} />}
        aria-label="Search or run a command"
      />
      <Spotlight.ActionsList>
        <Entries text={query} onShowKeys={onShowKeys} />
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

// Inside of the list, so that it fetches and computes only while the palette is open.
function Entries({ text, onShowKeys }: { text: string; onShowKeys: () => void }) {
  const entries = [
    ...useScreens(onShowKeys),
    ...useSpiders(),
    ...useJobs(text),
    ...useSchedules(text),
    ...useNodesAndProjects()
  ]
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = new Map<string, Entry[]>()
  for (const entry of entries) {
    const haystack = `${entry.label} ${entry.words ?? ''} ${entry.group}`.toLowerCase()
    if (!words.every((word) => haystack.includes(word))) continue
    // Without a word there is nothing to find: only places and acts.
    if (words.length === 0 && !['Go to', 'Do'].includes(entry.group)) continue
    const group = shown.get(entry.group) ?? []
    if (group.length < SHOWN_PER_GROUP) shown.set(entry.group, [...group, entry])
  }
  if (shown.size === 0)
    return <Spotlight.Empty>No results for “{text}”. Try a spider, a job ID, a node or a project.</Spotlight.Empty>
  return [...shown].map(([group, list]) => (
    <Spotlight.ActionsGroup key={group} label={group} className={classes.paletteGroup}>
      {list.map(({ id, label, note, icon, run }) => (
        <Spotlight.Action
          key={id}
          label={label}
          leftSection={icon}
          rightSection={<span className="faint">{note}</span>}
          onClick={run}
          highlightQuery={false}
          className={classes.paletteAction}
        />
      ))}
    </Spotlight.ActionsGroup>
  ))
}

function useScreens(onShowKeys: () => void): Entry[] {
  const navigate = useNavigate()
  const { paused, toggle } = usePauseSwitch()
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  return [
    ...SCREENS.map(({ to, word, Icon }) => ({
      id: to,
      group: 'Go to',
      label: word,
      icon: <Icon size={16} />,
      run: () => void navigate({ to })
    })),
    {
      id: 'settings',
      group: 'Go to',
      label: 'Settings',
      words: 'credentials python keys',
      icon: <IconSettings size={16} />,
      run: () => void navigate({ to: '/settings' })
    },
    { id: 'run', group: 'Do', label: 'Run spiders…', icon: <IconPlayerPlay size={16} />, run: () => openRunDialog() },
    {
      id: 'add-node',
      group: 'Do',
      label: 'Add nodes…',
      icon: <IconPlus size={16} />,
      run: () => void navigate({ to: '/nodes', search: { add: true } })
    },
    {
      id: 'new-schedule',
      group: 'Do',
      label: 'New schedule…',
      words: 'cron every repeat',
      icon: <IconCalendarTime size={16} />,
      run: () => void navigate({ to: '/schedules', search: { edit: 'new' } })
    },
    ...SCHEDULE_VIEWS.map(({ to, label }) => ({
      id: to,
      group: 'Go to',
      label,
      words: 'schedules',
      icon: <IconCalendarTime size={16} />,
      run: () => void navigate({ to })
    })),
    {
      id: 'pause',
      group: 'Do',
      label: paused ? 'Resume queue' : 'Pause queue',
      words: 'pause resume stop',
      icon: paused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />,
      run: toggle
    },
    {
      id: 'theme',
      group: 'Do',
      label: dark ? 'Light appearance' : 'Dark appearance',
      words: 'theme dark light',
      icon: dark ? <IconSun size={16} /> : <IconMoon size={16} />,
      run: () => setColorScheme(dark ? 'light' : 'dark')
    },
    {
      id: 'keys',
      group: 'Do',
      label: 'Show keyboard shortcuts',
      words: 'help shortcuts',
      icon: <IconKeyboard size={16} />,
      run: onShowKeys
    }
  ]
}

function useSpiders(): Entry[] {
  const { query } = useApi()
  const { data } = useQuery(query.projects.list.queryOptions())
  return (data?.projects ?? []).flatMap(({ name, latestVersion, versions }) =>
    (versions.find(({ version }) => version === latestVersion)?.spiders ?? []).map((spider) => ({
      id: `run ${name}/${spider}`,
      group: 'Run spider',
      label: `${name}/${spider}`,
      words: 'run',
      note: 'run…',
      icon: <IconPlayerPlay size={16} />,
      run: () => openRunDialog({ project: name, spiders: [spider] })
    }))
  )
}

function useJobs(text: string): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const [settled] = useDebouncedValue(text.trim(), 150)
  const enabled = settled.length >= 2
  const { data } = useQuery(
    query.jobs.list.queryOptions({
      input: { text: settled.slice(0, 200), limit: SHOWN_PER_GROUP },
      enabled,
      placeholderData: keepPreviousData,
      staleTime: 0,
      gcTime: 10_000
    })
  )
  if (!enabled || !data) return []
  return data.jobs.map((job: Job) => ({
    id: job.id,
    group: 'Jobs',
    label: `${job.project}/${job.spider}`,
    words: `${job.id} ${job.jobid}`,
    icon: <StatusIcon status={job.status} />,
    note: (
      <>
        <span className="mono">{job.id.slice(-6)}</span> · <RelativeTime atMs={job.queuedAtMs} suffix=" ago" />
      </>
    ),
    run: () => void navigate({ to: '/jobs', search: { job: job.id } })
  }))
}

function useSchedules(text: string): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const [settled] = useDebouncedValue(text.trim(), 150)
  const enabled = settled.length >= 2
  const { data } = useQuery(
    query.schedules.list.queryOptions({
      input: { text: settled.slice(0, 200), limit: SHOWN_PER_GROUP },
      enabled,
      placeholderData: keepPreviousData,
      staleTime: 0,
      gcTime: 10_000
    })
  )
  if (!enabled || !data) return []
  return data.schedules.flatMap((schedule) => [
    {
      id: `schedule ${schedule.id}`,
      group: 'Schedules',
      label: schedule.name,
      // Found by the engine, which looks into what it runs as well.
      words: `${text} edit`,
      note: schedule.paused ? 'paused' : schedule.zone,
      icon: <IconCalendarTime size={16} />,
      run: () => void navigate({ to: '/schedules', search: { schedule: schedule.id } })
    }
  ])
}

function useNodesAndProjects(): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const { data: eggs } = useQuery(query.projects.list.queryOptions())
  return [
    ...(fleet?.nodes ?? []).map((node) => ({
      id: `node ${node.id}`,
      group: 'Nodes',
      label: node.name,
      words: `${node.url} ${node.tags.join(' ')}`,
      note: nodeWord(node),
      icon: <IconServer2 size={16} />,
      run: () => void navigate({ to: '/nodes', search: { node: node.id } })
    })),
    ...(eggs?.projects ?? []).map(({ name, latestVersion }) => ({
      id: `project ${name}`,
      group: 'Projects',
      label: name,
      note: latestVersion,
      icon: <IconBox size={16} />,
      run: () => void navigate({ to: '/projects', search: { project: name } })
    }))
  ]
}
