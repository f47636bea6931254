import { ActionIcon, Button, Flex, Tooltip } from '@mantine/core'
import { IconAdjustments, IconPin, IconPlayerPause, IconPlayerPlay, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Project, Version } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { FieldRow, Panel, ScreenHead } from '../../ui/panel.tsx'
import { formatDuration } from '../../../shared/time.ts'
import { describeRetry } from '../../ui/fields/retry.ts'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { useProjectPause } from '../../ui/use-pause-switch.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { newestBy } from './last-run.tsx'
import classes from './projects.module.css'
import { SECOND_WAIT } from './cancel-waits.ts'
import { LocalSettings } from './local-settings.tsx'
import { OrderWarning } from './order-warning.tsx'
import { SettingsDialog } from './settings-dialog.tsx'
import { SpiderRow } from './spider-row.tsx'
import { usePin } from './use-pin.ts'
import { VersionRows } from './version-rows.tsx'
import { useNodeName } from '../../ui/use-node-name.ts'
import { DefaultsDialog } from './defaults-dialog.tsx'
import { describeDefaults } from './defaults-form.ts'
import { describeOutcomeRules } from './describe-outcome-rules.ts'
import { outcomeRulesOf } from '../../../shared/outcome-rules.ts'
import { SpiderOutcomesDialog } from './spider-outcomes-dialog.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

export function ProjectDetail({ name, ...props }: { name: string } & Omit<ContentProps, 'project'>) {
  const api = useApi()
  const project = useQuery(api.query.projects.get.queryOptions({ input: { project: name } }))
  return (
    <Flex
      component="section"
      direction="column"
      gap={14}
      className={`${classes.detail} grow`}
      aria-label={texts.projectTitle(name)}
    >
      <QueryState query={project} what={texts.theProject(name)}>
        {(data: Project) => <Content project={data} {...props} />}
      </QueryState>
    </Flex>
  )
}

interface ContentProps {
  project: Project
  isLogOpen: boolean
  onLog: (isOpen: boolean) => void
  onClose: () => void
}

function Content({ project, isLogOpen, onLog, onClose }: ContentProps) {
  const where = { project: project.name }
  const mayRun = useMay('jobs.run', where).may
  const mayPause = useMay('queue.pause', where).may
  const mayDeploy = useMay('eggs.deploy', where).may
  const mayChange = useMay('projects.change', where).may
  const mayDelete = useMay('projects.delete', where).may
  const [isConfiguring, setConfiguring] = useState(false)
  const [deploying, setDeploying] = useState<Version | null>(null)
  const [deleting, setDeleting] = useState<Version | 'project' | null>(null)
  const active = versionOf(project)
  const latest = versionOf(project, project.latestVersion)
  return (
    <>
      <ScreenHead title={project.name} note={active === undefined ? undefined : texts.activeNote(active.version)}>
        <span className={classes.headActs}>
          <Button component={Link} to="/jobs" search={{ project: project.name } as never}>
            {texts.jobs}
          </Button>
          {mayPause && <PauseButton project={project} />}
          {mayChange && (
            <Tooltip label={texts.settingsItem}>
              <ActionIcon onClick={() => setConfiguring(true)} aria-label={texts.settingsItem}>
                <IconAdjustments size={16} />
              </ActionIcon>
            </Tooltip>
          )}
          {mayDeploy && active !== undefined && (
            <Button onClick={() => setDeploying(active)}>{texts.deployItem}</Button>
          )}
          {mayRun && (
            <Button variant="filled" onClick={() => openRunDialog({ project: project.name })}>
              {texts.runItem}
            </Button>
          )}
        </span>
        <Tooltip label={texts.closeEsc}>
          <ActionIcon onClick={onClose} aria-label={texts.closeProject}>
            <IconX size={16} />
          </ActionIcon>
        </Tooltip>
      </ScreenHead>
      {project.settings.paused && (
        <Flex component="p" align="flex-start" gap={8} className={classes.warning} role="status">
          <IconPlayerPause size={14} className="tone-wait" aria-hidden />
          <span>{texts.pausedNotice}</span>
        </Flex>
      )}
      <PinNotice project={project} />
      {latest?.orderWarning != null && <OrderWarning text={latest.orderWarning} />}
      <Spiders project={project} version={active} />
      <DefaultsPanel project={project} />
      <QueueFacts project={project} />
      <OutcomesPanel project={project} />
      <LocalSettings project={project} isLogOpen={isLogOpen} onLog={onLog} onEdit={() => setConfiguring(true)} />
      <Panel
        title={texts.versions}
        note={texts.versionCount(project.versions.length)}
        aside={
          mayDelete && (
            <Button variant="subtle" color="gray" size="compact-xs" onClick={() => setDeleting('project')}>
              {texts.deleteProjectItem}
            </Button>
          )
        }
        flush
      >
        <VersionRows project={project} onDeploy={setDeploying} onDelete={setDeleting} />
      </Panel>
      {isConfiguring && <SettingsDialog project={project} onClose={() => setConfiguring(false)} />}
      {deploying !== null && <DeployDialog version={deploying} onClose={() => setDeploying(null)} />}
      {deleting !== null && (
        <DeleteDialog
          project={project}
          version={deleting === 'project' ? null : deleting}
          onClose={() => setDeleting(null)}
          onProjectGone={onClose}
        />
      )}
    </>
  )
}

/** While the project is pinned, jobs ignore newer uploads, so the page says so at the top. */
function PinNotice({ project }: { project: Project }) {
  const { may } = useMay('eggs.deploy', { project: project.name })
  const { isPending, pin } = usePin(project)
  const { pinnedVersion = null } = project.settings
  if (pinnedVersion === null) return null
  return (
    <Flex component="p" align="center" gap={8} className={`${classes.warning} ${classes.pinned}`} role="status">
      <IconPin size={14} className={project.activeVersion === null ? 'tone-wait' : undefined} aria-hidden />
      <span className="grow">
        {project.activeVersion === null ? texts.pinnedMissingNotice(pinnedVersion) : texts.pinnedNotice(pinnedVersion)}
      </span>
      {may && (
        <Button size="compact-xs" loading={isPending} onClick={() => pin(null)}>
          {texts.unpin}
        </Button>
      )}
    </Flex>
  )
}

function PauseButton({ project }: { project: Project }) {
  const { paused, isPending, toggle } = useProjectPause(project)
  return (
    <Tooltip label={paused ? texts.resumeHint : texts.pauseHint}>
      <ActionIcon loading={isPending} aria-label={paused ? texts.resume : texts.pause} onClick={toggle}>
        {paused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
      </ActionIcon>
    </Tooltip>
  )
}

function QueueFacts({ project: { settings } }: { project: Project }) {
  const retry = describeRetry(settings.retry)
  const isDefault =
    settings.weight === 1 &&
    retry === null &&
    !settings.noOverlap &&
    settings.cancelWaitSeconds === null &&
    settings.distribution === 'on_demand'
  if (isDefault) return null
  return (
    <Panel title={texts.queueAndDeployment}>
      {settings.weight !== 1 && <FieldRow label={texts.weight}>{settings.weight}</FieldRow>}
      {retry !== null && <FieldRow label={texts.retry}>{retry}</FieldRow>}
      {settings.noOverlap && <FieldRow label={texts.overlap}>{texts.noOverlapFact}</FieldRow>}
      {settings.cancelWaitSeconds !== null && (
        <FieldRow label={texts.afterCancel}>
          {texts.cancelWaitFact(formatDuration(settings.cancelWaitSeconds), SECOND_WAIT)}
        </FieldRow>
      )}
      {settings.distribution === 'at_once' && (
        <FieldRow label={texts.deployment}>{texts.deployImmediatelyFact}</FieldRow>
      )}
    </Panel>
  )
}

function Spiders({ project, version }: { project: Project; version: Version | undefined }) {
  const api = useApi()
  const jobs = useQuery(api.query.jobs.list.queryOptions({ input: { project: project.name, limit: 300 } })).data?.jobs
  const unusual = useQuery(api.query.findings.list.queryOptions()).data?.spiders
  const last = useMemo(() => newestBy(jobs, ({ spider }) => spider), [jobs])
  const { may } = useMay('jobs.run', { project: project.name })
  const spiders = version?.spiders ?? null
  return (
    <Panel
      title={texts.spiders}
      note={spiders === null ? undefined : texts.inActiveVersion(spiders.length)}
      aside={
        may && spiders !== null && spiders.length > 1 ? (
          <Button
            variant="subtle"
            size="compact-xs"
            onClick={() => openRunDialog({ project: project.name, spiders: [...spiders] })}
          >
            {texts.runAll(spiders.length)}
          </Button>
        ) : undefined
      }
      flush
    >
      {spiders === null || spiders.length === 0 ? (
        <EmptyState title={spiders === null ? texts.unknownSpiders : texts.noSpiders}>
          {spiders === null ? texts.unknownSpidersHint : texts.noSpidersHint}
        </EmptyState>
      ) : (
        <ul className={classes.spiders}>
          {spiders.map((spider) => (
            <SpiderRow
              key={spider}
              project={project}
              spider={spider}
              last={last.get(spider)}
              unusual={unusual?.find((one) => one.project === project.name && one.spider === spider)}
            />
          ))}
        </ul>
      )}
    </Panel>
  )
}

function DefaultsPanel({ project }: { project: Project }) {
  const { may } = useMay('projects.change', { project: project.name })
  const [isEditing, setEditing] = useState(false)
  const { defaults, spiderDefaults } = project.settings
  const nodeName = useNodeName()
  const ofProject = describeDefaults(defaults, nodeName)
  const ofSpiders = Object.entries(spiderDefaults)
  return (
    <Panel
      title={texts.defaults}
      note={texts.forNewJobs}
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" onClick={() => setEditing(true)}>
            {texts.editDefaultsItem}
          </Button>
        )
      }
    >
      <FieldRow label={texts.allSpiders}>{ofProject ?? <span className="dim">{texts.none}</span>}</FieldRow>
      {ofSpiders.map(([spider, one]) => (
        <FieldRow key={spider} label={spider}>
          {describeDefaults(one, nodeName)}
        </FieldRow>
      ))}
      {isEditing && <DefaultsDialog project={project} onClose={() => setEditing(false)} />}
    </Panel>
  )
}

function OutcomesPanel({ project }: { project: Project }) {
  const { may } = useMay('projects.change', { project: project.name })
  const [isEditing, setEditing] = useState(false)
  const { settings } = project
  const rulesOf = (spider: string) =>
    describeOutcomeRules(outcomeRulesOf(settings, spider)) ?? <span className="dim">{texts.noRules}</span>
  return (
    <Panel
      title={texts.outcomeRules}
      note={texts.outcomeRulesNote}
      aside={
        may && (
          <Button variant="subtle" size="compact-xs" onClick={() => setEditing(true)}>
            {texts.editSpiderRulesItem}
          </Button>
        )
      }
    >
      <FieldRow label={texts.allSpiders}>
        {describeOutcomeRules(settings.outcome) ?? <span className="dim">{texts.noRules}</span>}
      </FieldRow>
      {Object.keys(settings.spiderOutcomes).map((spider) => (
        <FieldRow key={spider} label={spider}>
          {rulesOf(spider)}
        </FieldRow>
      ))}
      {!settings.expectations && <FieldRow label={texts.expectations}>{texts.expectationsOff}</FieldRow>}
      {isEditing && <SpiderOutcomesDialog project={project} onClose={() => setEditing(false)} />}
    </Panel>
  )
}
