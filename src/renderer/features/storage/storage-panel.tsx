import { Button, Flex, Group, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ProjectUsage, StorageUsage } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { RetentionPanel } from './retention-panel.tsx'
import classes from './storage.module.css'
import { texts } from '../../../shared/texts/ui/storage.ts'

const KINDS = { logs: texts.logs, items: texts.items, jobs: texts.jobs, eggs: texts.eggs } as const
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
        title={texts.storage}
        note={usage.data && texts.inTheDataDirectory(formatBytes(usage.data.totalBytes))}
        aside={may && usage.data?.database.canShrink === false && <CompactButton />}
      >
        <QueryState query={usage} what={texts.theDiskUsage} rows={6}>
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
          <FieldRow label={texts.disk}>
            {formatBytes(disk.freeBytes)} of {formatBytes(disk.totalBytes)} free
            {disk.fullAtMs !== null && (
              <span className="dim">
                {' '}
                · full in <RelativeTime atMs={2 * Date.now() - disk.fullAtMs} /> at the current rate
              </span>
            )}
          </FieldRow>
        )}
        <FieldRow label={texts.database}>
          {formatBytes(database.bytes)}
          {database.freeBytes > 0 && <span className="dim">{texts.ofItUnused(formatBytes(database.freeBytes))}</span>}
        </FieldRow>
        <FieldRow label={texts.encryption}>
          <Encryption state={usage.encryption ?? null} />
        </FieldRow>
        <FieldRow label={texts.searchIndex}>{formatBytes(searchIndexBytes)}</FieldRow>
        <FieldRow label={texts.caches}>{formatBytes(cacheBytes)}</FieldRow>
      </div>
      <div className={classes.scroll}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">{texts.project}</th>
              {Object.values(KINDS).map((label) => (
                <th scope="col" key={label} className={classes.number}>
                  {label}
                </th>
              ))}
              <th scope="col" className={classes.number}>
                {texts.total}
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
        <p className="dim">{texts.andSmallerProject(projects.length - PROJECTS_SHOWN)}</p>
      )}
    </Stack>
  )
}

/** How far the background sealing with the newest key is. */
function Encryption({ state }: { state: StorageUsage['encryption'] }) {
  if (state === null) return <span className="dim">{texts.off}</span>
  const { keyId, sealed, total, lost, sealedAtMs, problem } = state
  const left = Math.max(0, total - sealed)
  return (
    <>
      Key <code>{keyId}</code>
      <span className="dim">
        {' · '}
        {state.state === 'sealed' ? texts.allFilesSealed : texts.sealed(formatShare(sealed, total))}
        {state.state === 'sealed' && sealedAtMs !== null && (
          <>
            {' '}
            <RelativeTime atMs={sealedAtMs} suffix=" ago" />
          </>
        )}
        {state.state !== 'sealed' && left > 0 && texts.fileLeft(left)}
        {state.state === 'waiting' && texts.continuesWithinTheHour}
        {lost > 0 && texts.fileWithALostKey(lost)}
      </span>
      {problem !== null && (
        <div className="tone-bad" role="alert">
          {texts.fileCouldNotBeSealed(problem.files, problem.text)}
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
      onSuccess: ({ freedBytes }) => notifyDone(texts.theDatabaseWasCompactedFreed(formatBytes(freedBytes))),
      onError: (error) => notifyError(texts.couldNotCompactTheDatabase, error)
    })
  )
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      loading={compact.isPending}
      title={texts.rewritesTheDatabaseDispatching}
      onClick={() => compact.mutate({})}
    >
      {texts.compactDatabase}
    </Button>
  )
}
