import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { Spotlight } from '@mantine/spotlight'
import {
  IconBell,
  IconBellOff,
  IconBellPlus,
  IconBox,
  IconCalendarTime,
  IconKeyboard,
  IconMoon,
  IconPlayerPause,
  IconHistory,
  IconPlayerPlay,
  IconPlus,
  IconSearch,
  IconReportAnalytics,
  IconSend,
  IconServer2,
  IconServerBolt,
  IconSettings,
  IconShieldLock,
  IconSun,
  IconTerminal2
} from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { LOCAL_ENGINE } from '../../shared/wire.ts'
import { shortId } from '../../shared/ids.ts'
import { versionOf } from '../../shared/version-of.ts'
import { useApi } from '../api/api.tsx'
import { useMay } from '../api/use-me.ts'
import { openEngineDialog, useHasOperation, useRemoteEngines } from '../state/remote-engines.ts'
import { newAlertRule, openRunDialog } from '../state/open-dialogs.ts'
import { nodeWord, StatusIcon } from '../ui/status.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { useSwitchEngine } from './engine-switch/use-switch-engine.ts'
import classes from './frame.module.css'
import { useScreens as useScreensOfEngine } from './rail.tsx'
import { usePauseSwitch } from '../ui/use-pause-switch.ts'
import { texts } from '../../shared/texts/ui/app.ts'

interface Entry {
  id: string
  group: string
  label: string
  note?: ReactNode
  icon: ReactNode
  words?: string
  run: () => void
}

const SHOWN_PER_GROUP = 8
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
        placeholder={texts.palettePlaceholder}
        leftSection={<IconSearch size={16} />}
        aria-label={texts.paletteLabel}
      />
      <Spotlight.ActionsList>
        <Entries text={query} onShowKeys={onShowKeys} />
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}

// A separate component inside the list, so that it fetches and computes only while the palette is open.
function Entries({ text, onShowKeys }: { text: string; onShowKeys: () => void }) {
  const entries = [
    ...useScreens(onShowKeys),
    ...useEngines(),
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
    if (words.length === 0 && ![texts.goTo, texts.actions].includes(entry.group)) continue
    const group = shown.get(entry.group) ?? []
    if (group.length < SHOWN_PER_GROUP) shown.set(entry.group, [...group, entry])
  }
  if (shown.size === 0) return <Spotlight.Empty>{texts.noResults(text)}</Spotlight.Empty>
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
  const screens = useScreensOfEngine()
  const { paused, may: mayPause, toggle } = usePauseSwitch()
  const mayRun = useMay('jobs.run').may
  const maySchedule = useMay('schedules.change').may
  const mayAudit = useMay('audit.read').may
  const mayAlert = useMay('alerts.change').may
  const mayAnswer = useMay('alerts.answer').may
  const has = useHasOperation()
  const hasAlerts = has('alertRules.list')
  const hasReport = has('alerts.report')
  const mayAddNodes = useMay('nodes.change').may
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  const act = (id: string, label: string, Icon: typeof IconBox, run: () => void, words?: string) => ({
    id,
    group: texts.actions,
    label,
    words,
    icon: <Icon size={16} />,
    run
  })
  const goTo = (to: string, label: string, Icon: typeof IconBox, words?: string) => ({
    ...act(to, label, Icon, () => void navigate({ to }), words),
    group: texts.goTo
  })
  return [
    ...screens.map(({ to, word, Icon }) => goTo(to, word, Icon)),
    goTo('/settings', texts.settings, IconSettings, texts.settingsWords),
    goTo('/engines', texts.engines, IconServerBolt, texts.enginesWords),
    goTo('/access', texts.usersAndAccess, IconShieldLock, texts.accessWords),
    ...(mayAudit ? [goTo('/audit', texts.auditLog, IconHistory, texts.auditWords)] : []),
    ...(mayRun ? [act('run', texts.runSpidersMenu, IconPlayerPlay, () => openRunDialog())] : []),
    ...(mayAddNodes
      ? [act('add-node', texts.addNodesMenu, IconPlus, () => void navigate({ to: '/nodes', search: { add: true } }))]
      : []),
    ...(maySchedule
      ? [
          act(
            'new-schedule',
            texts.newSchedule,
            IconCalendarTime,
            () => void navigate({ to: '/schedules', search: { edit: 'new' } }),
            texts.newScheduleWords
          )
        ]
      : []),
    ...(hasAlerts && mayAlert
      ? [act('new-alert-rule', texts.newAlertRule, IconBellPlus, () => newAlertRule(), texts.newAlertRuleWords)]
      : []),
    ...(hasAlerts && mayAnswer
      ? [
          act(
            'add-maintenance-window',
            texts.addMaintenanceWindow,
            IconBellOff,
            () => void navigate({ to: '/alerts/silences', search: { add: 'window' } }),
            texts.addMaintenanceWindowWords
          )
        ]
      : []),
    ...(hasAlerts
      ? [
          goTo('/alerts/rules', texts.alertRules, IconBell, texts.alertRulesWords),
          goTo('/alerts/silences', texts.alertSilences, IconBellOff, texts.alertSilencesWords),
          goTo('/alerts/channels', texts.alertChannels, IconSend, texts.alertChannelsWords)
        ]
      : []),
    ...(hasReport ? [goTo('/alerts/report', texts.report, IconReportAnalytics, texts.reportWords)] : []),
    goTo('/logs/search', texts.searchLogs, IconTerminal2, texts.searchLogsWords),
    goTo('/schedules/missed', texts.missedRuns, IconCalendarTime, texts.scheduleViewWords),
    goTo('/schedules/calendar', texts.runCalendar, IconCalendarTime, texts.scheduleViewWords),
    goTo('/schedules/load', texts.upcomingLoad, IconCalendarTime, texts.scheduleViewWords),
    goTo('/schedules/chains', texts.chains, IconCalendarTime, texts.scheduleViewWords),
    ...(mayPause
      ? [
          act(
            'pause',
            paused ? texts.resumeQueue : texts.pauseQueue,
            paused ? IconPlayerPlay : IconPlayerPause,
            toggle,
            texts.pauseQueueWords
          )
        ]
      : []),
    act(
      'theme',
      dark ? texts.lightAppearance : texts.darkAppearance,
      dark ? IconSun : IconMoon,
      () => setColorScheme(dark ? 'light' : 'dark'),
      texts.appearanceWords
    ),
    act('keys', texts.showKeyboardShortcuts, IconKeyboard, onShowKeys, texts.keyboardShortcutsWords)
  ]
}

function useEngines(): Entry[] {
  const engines = useRemoteEngines((state) => state.engines)
  const current = useRemoteEngines((state) => state.current)
  const switchTo = useSwitchEngine()
  if (engines === null) return []
  const others = [{ id: LOCAL_ENGINE, name: texts.thisComputer }, ...engines].filter(
    ({ id }) => id !== (current?.id ?? LOCAL_ENGINE)
  )
  return [
    ...others.map(({ id, name }) => ({
      id: `engine ${id}`,
      group: texts.goTo,
      label: texts.engineLabel(name),
      words: texts.switchEngineWords,
      icon: <IconServerBolt size={16} />,
      run: () => void switchTo(id)
    })),
    {
      id: 'add-engine',
      group: texts.actions,
      label: texts.addEngineMenu,
      words: texts.addEngineWords,
      icon: <IconPlus size={16} />,
      run: () => openEngineDialog('add')
    }
  ]
}

function useSpiders(): Entry[] {
  const { query } = useApi()
  const { data } = useQuery(query.projects.list.queryOptions())
  const { may } = useMay('jobs.run')
  if (!may) return []
  return (data?.projects ?? []).flatMap((project) =>
    (versionOf(project)?.spiders ?? []).map((spider) => ({
      id: `run ${project.name}/${spider}`,
      group: texts.runSpider,
      label: `${project.name}/${spider}`,
      words: texts.runSpiderWords,
      note: texts.runSpiderNote,
      icon: <IconPlayerPlay size={16} />,
      run: () => openRunDialog({ project: project.name, spiders: [spider] })
    }))
  )
}

function useSearchText(text: string): string | null {
  const [typed] = useDebouncedValue(text.trim(), 150)
  return typed.length < 2 ? null : typed.slice(0, 200)
}

const asSearch = (text: string | null) => ({
  input: { text: text ?? '', limit: SHOWN_PER_GROUP },
  enabled: text !== null,
  placeholderData: keepPreviousData,
  staleTime: 0,
  gcTime: 10_000
})

function useJobs(text: string): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const asked = useSearchText(text)
  const { data } = useQuery(query.jobs.list.queryOptions(asSearch(asked)))
  if (asked === null || !data) return []
  return data.jobs.map((job) => ({
    id: job.id,
    group: texts.jobs,
    label: `${job.project}/${job.spider}`,
    words: `${job.id} ${job.jobid}`,
    icon: <StatusIcon status={job.status} />,
    note: (
      <>
        <span className="mono">{shortId(job.id)}</span> · <RelativeTime atMs={job.queuedAtMs} ago />
      </>
    ),
    run: () => void navigate({ to: '/jobs', search: { job: job.id } })
  }))
}

function useSchedules(text: string): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const asked = useSearchText(text)
  const { data } = useQuery(query.schedules.list.queryOptions(asSearch(asked)))
  if (asked === null || !data) return []
  return data.schedules.map((schedule) => ({
    id: `schedule ${schedule.id}`,
    group: texts.schedules,
    label: schedule.name,
    // Include the typed text, so that every schedule matches: the engine has already filtered them.
    words: texts.scheduleWords(text),
    note: schedule.paused ? texts.schedulePaused : schedule.zone,
    icon: <IconCalendarTime size={16} />,
    run: () => void navigate({ to: '/schedules', search: { schedule: schedule.id } })
  }))
}

function useNodesAndProjects(): Entry[] {
  const { query } = useApi()
  const navigate = useNavigate()
  const { data: fleet } = useQuery(query.nodes.list.queryOptions())
  const { data: eggs } = useQuery(query.projects.list.queryOptions())
  return [
    ...(fleet?.nodes ?? []).map((node) => ({
      id: `node ${node.id}`,
      group: texts.nodes,
      label: node.name,
      words: `${node.url} ${node.tags.join(' ')}`,
      note: nodeWord(node),
      icon: <IconServer2 size={16} />,
      run: () => void navigate({ to: '/nodes', search: { node: node.id } })
    })),
    ...(eggs?.projects ?? []).map(({ name, activeVersion }) => ({
      id: `project ${name}`,
      group: texts.projects,
      label: name,
      note: activeVersion,
      icon: <IconBox size={16} />,
      run: () => void navigate({ to: '/projects', search: { project: name } })
    }))
  ]
}
