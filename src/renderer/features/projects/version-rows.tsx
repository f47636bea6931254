import { Badge, Menu } from '@mantine/core'
import {
  IconAlertTriangle,
  IconChevronRight,
  IconHistory,
  IconPin,
  IconPinnedOff,
  IconPlayerPlay,
  IconSend,
  IconTrash
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Node, Project, Version } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { openRunDialog } from '../../state/open-dialogs.ts'
import { CopyButton } from '../../ui/copy-button.tsx'
import { MoreMenu } from '../../ui/more-menu.tsx'
import { formatBytes } from '../../ui/numbers.ts'
import { FieldRow } from '../../ui/panel.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { compareSpiders, spreadOf } from './compare-versions.ts'
import { OrderWarning } from './order-warning.tsx'
import classes from './projects.module.css'
import { SpreadText } from './spread-text.tsx'
import { usePin } from './use-pin.ts'
import { VersionPlaces } from './version-places.tsx'
import { texts } from '../../../shared/texts/ui/projects.ts'

interface VersionRowsProps {
  project: Project
  onDeploy: (version: Version) => void
  onDelete: (version: Version) => void
}

export function VersionRows({ project, onDeploy, onDelete }: VersionRowsProps) {
  const api = useApi()
  const nodes = useQuery(api.query.nodes.list.queryOptions()).data?.nodes ?? []
  const mayRun = useMay('jobs.run', { project: project.name }).may
  const mayDeploy = useMay('eggs.deploy', { project: project.name }).may
  const mayDelete = useMay('projects.delete', { project: project.name }).may
  const [openName, setOpenName] = useState<string | null>(null)
  const activeAt = project.versions.findIndex(({ version }) => version === project.activeVersion)
  return (
    <ul className="divided">
      {project.versions.map((version, index) => {
        const isOpen = openName === version.version
        return (
          <li key={version.version}>
            <div className={classes.version}>
              <button
                type="button"
                className={classes.versionName}
                aria-expanded={isOpen}
                onClick={() => setOpenName(isOpen ? null : version.version)}
              >
                <IconChevronRight size={14} aria-hidden data-open={isOpen || undefined} />
                <strong className="ellipsis medium">{version.version}</strong>
                {version.version === project.activeVersion && (
                  <Badge size="sm" variant="light" tt="none" fw={500} title={texts.activeHint}>
                    {project.settings.pinnedVersion == null ? texts.active : texts.versionPinned}
                  </Badge>
                )}
                {version.version === project.latestVersion && (
                  <Badge size="sm" variant="default" tt="none" fw={500}>
                    {texts.latest}
                  </Badge>
                )}
                {version.orderWarning !== null && (
                  <IconAlertTriangle size={14} className="tone-wait" role="img" aria-label={texts.nodesDisagree} />
                )}
              </button>
              <SpiderChange version={version} before={project.versions[index + 1]} />
              <span className={classes.spread}>
                <SpreadText spread={spreadOf(version, nodes)} />
              </span>
              <span className={`${classes.size} dim right`}>
                {version.sizeBytes === null ? '' : formatBytes(version.sizeBytes)}
              </span>
              <span className="dim right">
                <RelativeTime atMs={version.createdAtMs} />
              </span>
              {(mayRun || mayDeploy || mayDelete) && (
                <MoreMenu label={texts.moreForVersion(version.version)}>
                  {mayRun && (
                    <Menu.Item
                      leftSection={<IconPlayerPlay size={14} />}
                      onClick={() => openRunDialog({ project: project.name, version: version.version })}
                    >
                      {texts.runVersionItem}
                    </Menu.Item>
                  )}
                  {mayDeploy && (
                    <>
                      <Menu.Item
                        leftSection={<IconSend size={14} />}
                        onClick={() => onDeploy(version)}
                        disabled={version.sha256 === null}
                        title={version.sha256 === null ? texts.noEggHint : undefined}
                      >
                        {texts.deployToNodesItem}
                      </Menu.Item>
                      <PinItem project={project} version={version} isOlder={activeAt >= 0 && index > activeAt} />
                    </>
                  )}
                  {mayDelete && (
                    <>
                      {(mayRun || mayDeploy) && <Menu.Divider />}
                      <Menu.Item
                        color="red"
                        leftSection={<IconTrash size={14} />}
                        onClick={() => onDelete(version)}
                        disabled={isPinned(project, version)}
                        title={isPinned(project, version) ? texts.unpinFirst : undefined}
                      >
                        {texts.deleteItem}
                      </Menu.Item>
                    </>
                  )}
                </MoreMenu>
              )}
            </div>
            {isOpen && <VersionFacts version={version} before={project.versions[index + 1]} nodes={nodes} />}
          </li>
        )
      })}
    </ul>
  )
}

const isPinned = ({ activeVersion, settings }: Project, { version }: Version): boolean =>
  settings.pinnedVersion != null && version === activeVersion

/** Rolling back means pinning an older version. */
function PinItem({ project, version, isOlder }: { project: Project; version: Version; isOlder: boolean }) {
  const { pin } = usePin(project)
  if (isPinned(project, version)) {
    return (
      <Menu.Item leftSection={<IconPinnedOff size={14} />} onClick={() => pin(null)}>
        {texts.unpin}
      </Menu.Item>
    )
  }
  return (
    <Menu.Item
      leftSection={isOlder ? <IconHistory size={14} /> : <IconPin size={14} />}
      onClick={() => pin(version.version)}
    >
      {isOlder ? texts.rollBack : texts.pinThis}
    </Menu.Item>
  )
}

function SpiderChange({ version, before }: { version: Version; before: Version | undefined }) {
  const change = compareSpiders(version, before)
  return (
    <span className={`${classes.change} dim`}>
      {version.spiders === null ? (
        <span className="faint">{texts.spidersUnknown}</span>
      ) : (
        texts.spiderCount(version.spiders.length)
      )}
      {change !== null && change.added.length > 0 && (
        <span title={texts.newSpidersTitle(change.added.join(', '))}> +{change.added.length}</span>
      )}
      {change !== null && change.removed.length > 0 && (
        <span title={texts.removedSpidersTitle(change.removed.join(', '))}> −{change.removed.length}</span>
      )}
    </span>
  )
}

interface VersionFactsProps {
  version: Version
  before: Version | undefined
  nodes: readonly Node[]
}

function VersionFacts({ version, before, nodes }: VersionFactsProps) {
  const change = compareSpiders(version, before)
  return (
    <div className={classes.facts}>
      <FieldRow label="SHA-256">
        {version.sha256 === null ? (
          <span className="dim">{texts.onlyOnNodes}</span>
        ) : (
          <>
            <span className="mono">{version.sha256.slice(0, 16)}…</span>{' '}
            <CopyButton value={version.sha256} what={texts.sha256} />
          </>
        )}
      </FieldRow>
      {version.spiders !== null && (
        <FieldRow label={texts.spiders}>{version.spiders.join(', ') || texts.none}</FieldRow>
      )}
      {change !== null && change.added.length > 0 && (
        <FieldRow label={texts.newSpiders}>{change.added.join(', ')}</FieldRow>
      )}
      {change !== null && change.removed.length > 0 && (
        <FieldRow label={texts.removedSpiders}>{change.removed.join(', ')}</FieldRow>
      )}
      <FieldRow label={texts.errors}>
        <Link to="/errors" search={{ project: version.project, since: version.version, state: 'all' }}>
          {texts.newErrors}
        </Link>
        {' · '}
        <Link to="/errors" search={{ project: version.project, version: version.version, state: 'all' }}>
          {texts.allErrors}
        </Link>
      </FieldRow>
      {version.orderWarning !== null && <OrderWarning text={version.orderWarning} />}
      <VersionPlaces version={version} nodes={nodes} />
    </div>
  )
}
