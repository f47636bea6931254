import { formatBytes } from '../../shared/format-bytes.ts'
import type { PreviewRow, ProjectUsage, StoragePreview, StorageUsage } from '../../shared/contract/index.ts'
import { withConsent } from '../client/arguments.ts'
import { localTime, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

const KINDS = ['logs', 'items', 'jobs', 'eggs'] as const

export function addStorageCommands({ group }: ClientCommands): void {
  const add = group('storage', 'Disk usage and retention.')

  add(
    'usage',
    'Show disk usage by project, and the state of retention.'
  )(async ({ client, print }) => {
    print(await client.storage.usage(), (usage) => {
      const { projects, database, searchIndexBytes, cacheBytes, totalBytes, disk, encryption, retention } = usage
      const sizeOf = (one: ProjectUsage) => KINDS.map((kind) => formatBytes(one[kind].bytes))
      const free =
        disk === null ? '' : ` · disk: ${formatBytes(disk.freeBytes)} of ${formatBytes(disk.totalBytes)} free`
      return [
        table(
          ['project', ...KINDS],
          projects.map((one) => [one.project, ...sizeOf(one)]),
          'No projects.'
        ),
        `Database: ${formatBytes(database.bytes)} · search index: ${formatBytes(searchIndexBytes)} · caches: ${formatBytes(cacheBytes)}`,
        `Total: ${formatBytes(totalBytes)}${free}`,
        `Encryption: ${describeEncryption(encryption)}`,
        `Retention: ${STATES[retention.state]}${retention.problem === null ? '' : ` (${retention.problem})`}`
      ].join('\n')
    })
  })

  add(
    'prune',
    'Show what the retention policy would delete and how much space that frees; --yes deletes it now, in the background.',
    withConsent
  )(async ({ client, print }, _words, { yes = false }: { yes?: boolean }) => {
    const { revision } = await client.storage.policy()
    const preview = await client.storage.preview({})
    const started = yes && (await client.storage.run()).started
    print({ preview, isPolicySet: revision > 0, started }, () =>
      [describePreview(preview), nextStep({ isPolicySet: revision > 0, yes, started })].join('\n')
    )
  })
}

const STATES = {
  not_set: 'no policy is set, nothing is deleted',
  paused: 'paused, nothing is deleted',
  idle: 'on',
  running: 'deleting now'
}

function describeEncryption(state: StorageUsage['encryption'] | undefined): string {
  if (state == null) return 'off: eggs, logs and items are stored as they are'
  const { keyId, sealed, total, lost, sealedAtMs, problem } = state
  const key = `key ${keyId}`
  const when = sealedAtMs === null ? '' : ` since ${localTime(sealedAtMs)}`
  const progress =
    state.state === 'sealed'
      ? `all files are encrypted with it${when}`
      : `${sealed} of ${total} files are encrypted with it`
  return [
    `${key}, ${progress}${state.state === 'waiting' ? ', the rest within the hour' : ''}`,
    ...(lost === 0 ? [] : [`${lost} cannot be read: their key is lost`]),
    ...(problem === null ? [] : [`${problem.files} could not be encrypted: ${problem.text}`])
  ].join('; ')
}

function describePreview({ goes, protected: kept, freesBytes, isCut }: StoragePreview): string {
  const cells = ({ project, kind, count, bytes, oldestMs, newestMs }: PreviewRow) =>
    [project, kind, String(count), formatBytes(bytes), localTime(oldestMs), localTime(newestMs)] as const
  const headers = ['project', 'kind', 'count', 'size', 'oldest', 'newest']
  const keeps = kept.reduce((sum, { count }) => sum + count, 0)
  return [
    table(
      headers,
      goes.map((row) => [...cells(row)]),
      'Retention would delete nothing.'
    ),
    ...(keeps > 0 ? [`Over a limit, but kept: ${keeps}.`] : []),
    ...(goes.length > 0 ? [`Frees ${isCut ? 'at least ' : ''}${formatBytes(freesBytes)}.`] : [])
  ].join('\n')
}

function nextStep({ isPolicySet, yes, started }: { isPolicySet: boolean; yes: boolean; started: boolean }): string {
  if (!isPolicySet)
    return 'No policy is set, so nothing is deleted. The preview uses the recommended policy. Set a policy in Settings or in a fleet file.'
  if (!yes) return 'Nothing was deleted. Add --yes to delete it now.'
  return started ? 'Deleting in the background.' : 'Not started: retention is paused or already deleting.'
}
