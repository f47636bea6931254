import { Button, Flex, Group, Stack } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { CSSProperties } from 'react'
import type { ProjectUsage, StorageUsage } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { formatBytes, joinFacts } from '../../ui/numbers.ts'
import { notifyDone, notifyError } from '../../ui/notify.tsx'
import { FieldRow, Panel } from '../../ui/panel.tsx'
import { QueryState } from '../../ui/states.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { COUNT_WORDS, KIND_WORDS, type Kind } from './policy-rows.ts'
import { RetentionPanel } from './retention-panel.tsx'
import classes from './storage.module.css'
import { texts } from '../../../shared/texts/ui/storage.ts'

const KINDS: readonly Kind[] = ['logs', 'items', 'jobs', 'eggs']
/** Shades of one color, because other colors represent states. */
const SHADES: Record<Kind, CSSProperties> = {
  logs: { background: 'var(--accent)' },
  items: { background: 'var(--accent)', opacity: 0.7 },
  jobs: { background: 'var(--accent)', opacity: 0.45 },
  eggs: { background: 'var(--faint)' }
}
const PROJECTS_SHOWN = 20
/** The polling interval. The change feed reports neither the progress of retention nor the disk usage. */
const EVERY_MS = 5_000

export function StoragePanels() {
  const { query } = useApi()
  const { may } = useMay('storage.change')
  const usage = useQuery(query.storage.usage.queryOptions({ refetchInterval: EVERY_MS }))
  return (
    <>
      <Panel
        title={texts.storage}
        note={usage.data && texts.totalInDataDirectory(formatBytes(usage.data.totalBytes))}
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
  const totals = KINDS.map((kind) => ({
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
              <span key={kind} style={{ ...SHADES[kind], flexGrow: bytes / all }} />
            ))}
          </Group>
          <Flex component="ul" gap="4px 16px" wrap="wrap" mt={8}>
            {totals.map(({ kind, bytes }) => (
              <li key={kind}>
                <span className={classes.swatch} style={SHADES[kind]} aria-hidden />
                {KIND_WORDS[kind]} {formatBytes(bytes)}
              </li>
            ))}
          </Flex>
        </div>
      )}
      <div>
        {disk !== null && (
          <FieldRow label={texts.disk}>
            {texts.diskFree(formatBytes(disk.freeBytes), formatBytes(disk.totalBytes))}
            {disk.fullAtMs !== null && (
              <span className="dim"> · {texts.diskFullIn(<RelativeTime atMs={2 * Date.now() - disk.fullAtMs} />)}</span>
            )}
          </FieldRow>
        )}
        <FieldRow label={texts.database}>
          {formatBytes(database.bytes)}
          {database.freeBytes > 0 && (
            <span className="dim"> · {texts.databaseUnused(formatBytes(database.freeBytes))}</span>
          )}
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
              {KINDS.map((kind) => (
                <th scope="col" key={kind} className={classes.number}>
                  {KIND_WORDS[kind]}
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
        <p className="dim">{texts.smallerProjects(projects.length - PROJECTS_SHOWN)}</p>
      )}
    </Stack>
  )
}

function Encryption({ state }: { state: StorageUsage['encryption'] }) {
  if (state === null) return <span className="dim">{texts.off}</span>
  const { keyId, sealed, total, lost, sealedAtMs, problem } = state
  const left = Math.max(0, total - sealed)
  return (
    <>
      {texts.encryptionKey(<code>{keyId}</code>)}
      <span className="dim">
        {' · '}
        {state.state !== 'sealed'
          ? joinFacts(
              texts.partlyEncrypted(formatShare(sealed, total)),
              left > 0 && texts.filesLeft(left),
              state.state === 'waiting' && texts.encryptionContinues
            )
          : sealedAtMs === null
            ? texts.allEncrypted
            : texts.allEncryptedAgo(<RelativeTime atMs={sealedAtMs} />)}
        {lost > 0 && <> · {texts.lostKeyFiles(lost)}</>}
      </span>
      {problem !== null && (
        <div className="tone-bad" role="alert">
          {texts.encryptionProblem(problem.files, problem.text)}
        </div>
      )}
    </>
  )
}

/** Returns 100 % only if nothing is left. */
const formatShare = (part: number, whole: number): string =>
  whole === 0 ? '0 %' : `${Math.min(part < whole ? 99 : 100, Math.floor((100 * part) / whole))} %`

function ProjectRow({ usage }: { usage: ProjectUsage }) {
  return (
    <tr>
      <th scope="row">{usage.project}</th>
      {KINDS.map((kind) => (
        <td key={kind} className={classes.number} title={COUNT_WORDS[kind](usage[kind].count)}>
          {usage[kind].count === 0 ? <span className="faint">–</span> : formatBytes(usage[kind].bytes)}
        </td>
      ))}
      <td className={classes.number}>{formatBytes(KINDS.reduce((sum, kind) => sum + usage[kind].bytes, 0))}</td>
    </tr>
  )
}

function CompactButton() {
  const { query } = useApi()
  const compact = useMutation(
    query.storage.compact.mutationOptions({
      onSuccess: ({ freedBytes }) => notifyDone(texts.databaseCompacted(formatBytes(freedBytes))),
      onError: (error) => notifyError(texts.couldNotCompact, error)
    })
  )
  return (
    <Button
      variant="subtle"
      size="compact-xs"
      loading={compact.isPending}
      title={texts.compactDatabaseHint}
      onClick={() => compact.mutate({})}
    >
      {texts.compactDatabase}
    </Button>
  )
}
