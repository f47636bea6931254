import { Button, type ButtonProps, Menu } from '@mantine/core'
import { IconBellPlus } from '@tabler/icons-react'
import type { AlertRuleSettings, NodeId, ProjectName, ScheduleId } from '../../shared/contract/index.ts'
import type { AlertWatch } from '../../shared/alert-watches.ts'
import { useMay } from '../api/use-me.ts'
import { newAlertRule } from '../state/open-dialogs.ts'
import { useHasOperation } from '../state/remote-engines.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

export type Watched =
  | { project: ProjectName; spider: string }
  | { scheduleId: ScheduleId; project: ProjectName | null }
  | { nodeId: NodeId }

type Entry = readonly [watch: AlertWatch, label: string, over?: Partial<AlertRuleSettings>]

const OF_SPIDER: readonly Entry[] = [
  ['spider_fails', texts.whenSpiderFails],
  ['spider_fails', texts.whenSpiderFailsRepeatedly, { threshold: 3 }],
  ['spider_items', texts.whenFewItems],
  ['spider_unusual', texts.whenUnusual],
  ['spider_overdue', texts.whenOverdue],
  ['job_runs_long', texts.whenJobRunsLong],
  ['error_appears', texts.whenErrorAppears]
]
const OF_SCHEDULE: readonly Entry[] = [['schedule_misses', texts.whenScheduleMisses]]
const OF_NODE: readonly Entry[] = [
  ['node_down', texts.whenNodeDown],
  ['node_stuck', texts.whenNodeStuck]
]

export function TellMe({ of, ...button }: { of: Watched } & ButtonProps) {
  if (!useMayTell(of)) return null
  return (
    <Menu>
      <Menu.Target>
        <Button leftSection={<IconBellPlus size={14} />} {...button}>
          {texts.notifyMeButton}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <TellMeItems of={of} />
      </Menu.Dropdown>
    </Menu>
  )
}

export function TellMeItems({ of }: { of: Watched }) {
  if (!useMayTell(of)) return null
  const scope = 'nodeId' in of ? { nodeId: of.nodeId } : of
  const entries = 'spider' in of ? OF_SPIDER : 'nodeId' in of ? OF_NODE : OF_SCHEDULE
  return (
    <>
      <Menu.Label>{texts.notifyMeLabel}</Menu.Label>
      {entries.map(([watch, label, over]) => (
        <Menu.Item key={label} onClick={() => newAlertRule({ ...scope, watch, ...over })}>
          {label}
        </Menu.Item>
      ))}
    </>
  )
}

export function useMayTell(of: Watched): boolean {
  const has = useHasOperation()
  const project = 'project' in of ? of.project : null
  const { may } = useMay('alerts.change', project === null ? 'everywhere' : { project })
  return may && has('alertRules.create')
}
