import { Button, Flex, Group, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ProjectUsage, StorageUsage } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { formatBytes, formatCount, plural } from '../../ui/numbers.ts'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { RetentionPanel } from './retention-panel.tsx'
import classes from './storage.module.css'

const KINDS = { logs: 'Logs', items: 'Items', jobs: 'Jobs', eggs: 'Eggs' } as const
type Kind = keyof typeof KINDS
const PROJECTS_SHOWN = 20
/** Nothing announces that a run proceeds or that the disk fills. */
const EVERY_MS = 5_000

/** What takes the disk, and what deletes it. */
export function StoragePanels() {
  const { query } = useApi()
  const { may } = useMay('storage.change')
  const usage = useQuery(query.storage.usage.queryOptions({ refetchInterval: EVERY_MS }))
  return (
    <>
      <Panel
        title="Storage"
        note={usage.data && `${formatBytes(usage.data.totalBytes)} in the data directory`}
        aside={may && usage.data?.database.canShrink === false && <CompactButton />}
      >
        <QueryState query={usage} what="the disk usage" rows={6}>
          {(data) => <Usage usage={data} />}
        </QueryState>
      </Panel>
      {may && <RetentionPanel usage={usage.data} />}
    </>
  )
}

function Usage({ usage }: { usage: StorageUsage }) {
  const { projects, database, disk, cacheBytes, searchIndexBytes } = usage
  const totals = (Object.keys(KINDS) as Kind[]).map((kind) => ({
    kind,
    bytes: projects.reduce((sum, project) => sum + project[kind].bytes, 0)
  }))
  const all = totals.reduce((sum, { bytes }) => sum + bytes, 0)
  return (
    <Stack gap={10}>
      {all > 0 && (
        <div>
          <Group align="stretch" gap={2} wrap="nowrap" className={classes.bar} aria-hidden>
            {totals.map(({ kind, bytes }) => (
              <span key={kind} data-kind={kind} style={{ flexGrow: bytes / all }} />
            ))}
          </Group>
          <Flex component="ul" gap="4px 16px" wrap="wrap" className={classes.legend}>
            {totals.map(({ kind, bytes }) => (
              <li key={kind}>
                <span className={classes.swatch} data-kind={kind} aria-hidden />
                {KINDS[kind]} {formatBytes(bytes)}
              </li>
            ))}
          </Flex>
        </div>
      )}
      <div>
        {disk !== null && (
          <FieldRow label="Disk">
            {formatBytes(disk.freeBytes)} of {formatBytes(disk.totalBytes)} free
            {disk.fullAtMs !== null && (
              <span className="dim">
                {' '}
                · full in <RelativeTime atMs={2 * Date.now() - disk.fullAtMs} /> at the current rate
              </span>
            )}
          </FieldRow>
        )}
        <FieldRow label="Database">
          {formatBytes(database.bytes)}
          {database.freeBytes > 0 && <span className="dim"> · {formatBytes(database.freeBytes)} of it unused</span>}
        </FieldRow>
        <FieldRow label="Encryption">
          <Encryption state={usage.encryption ?? null} />
        </FieldRow>
        <FieldRow label="Search index">{formatBytes(searchIndexBytes)}</FieldRow>
        <FieldRow label="Caches">{formatBytes(cacheBytes)}</FieldRow>
      </div>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Project</th>
              {Object.values(KINDS).map((label) => (
                <th scope="col" key={label} className={classes.number}>
                  {label}
                </th>
              ))}
              <th scope="col" className={classes.number}>
                Total
              </th>
            </tr>
          </thead>
          <tbody>
            {projects.slice(0, PROJECTS_SHOWN).map((one) => (
              <ProjectRow key={one.project} usage={one} />
            ))}
          </tbody>
        </table>
      </div>
      {projects.length > PROJECTS_SHOWN && (
        <p className="dim">and {plural(projects.length - PROJECTS_SHOWN, 'smaller project')}</p>
      )}
    </Stack>
  )
}

/** How far the background sealing with the newest key is. */
function Encryption({ state }: { state: StorageUsage['encryption'] }) {
  if (state === null) return <span className="dim">Off</span>
  const { keyId, sealed, total, lost, sealedAtMs, problem } = state
  const left = Math.max(0, total - sealed)
  return (
    <>
      Key <code>{keyId}</code>
      <span className="dim">
        {' · '}
        {state.state === 'sealed' ? 'all files sealed' : `${formatShare(sealed, total)} sealed`}
        {state.state === 'sealed' && sealedAtMs !== null && (
          <>
            {' '}
            <RelativeTime atMs={sealedAtMs} suffix=" ago" />
          </>
        )}
        {state.state !== 'sealed' && left > 0 && `, ${plural(left, 'file')} left`}
        {state.state === 'waiting' && ', continues within the hour'}
        {lost > 0 && ` · ${plural(lost, 'file')} with a lost key`}
      </span>
      {problem !== null && (
        <div className="tone-bad" role="alert">
          {plural(problem.files, 'file')} could not be sealed: {problem.text}
        </div>
      )}
    </>
  )
}

/** Never 100 % while something is left. */
const formatShare = (part: number, whole: number): string =>
  whole === 0 ? '0 %' : `${Math.min(part < whole ? 99 : 100, Math.floor((100 * part) / whole))} %`

function ProjectRow({ usage }: { usage: ProjectUsage }) {
  const kinds = Object.keys(KINDS) as Kind[]
  return (
    <tr>
      <th scope="row">{usage.project}</th>
      {kinds.map((kind) => (
        <td key={kind} className={classes.number} title={`${formatCount(usage[kind].count)} ${kind}`}>
          {usage[kind].count === 0 ? <span className="faint">–</span> : formatBytes(usage[kind].bytes)}
        </td>
      ))}
      <td className={classes.number}>{formatBytes(kinds.reduce((sum, kind) => sum + usage[kind].bytes, 0))}</td>
    </tr>
  )
}

function CompactButton() {
  const { query } = useApi()
  const compact = useMutation(
    query.storage.compact.mutationOptions({
      onSuccess: ({ freedBytes }) => notifyDone(`The database was compacted: ${formatBytes(freedBytes)} freed.`),
      onError: (error) => notifyError('Could not compact the database', error)
    })
  )
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      loading={compact.isPending}
      title="Rewrites the database. Dispatching pauses for about 5 s per GB."
      onClick={() => compact.mutate({})}
    >
      Compact database
    </Button>
  )
}
