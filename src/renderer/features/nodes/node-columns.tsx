import { Badge, Tooltip } from '@mantine/core'
import { IconLock, IconLockOpen } from '@tabler/icons-react'
import type { Node } from '../../../shared/contract/index.ts'
import { engineOfAddress } from '../../../shared/engine-address.ts'
import { nameOfSshHost, splitAddress } from '../../../shared/ssh-address.ts'
import { isTroubled, NodeHealthDot, nodeWord } from '../../ui/status.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import type { Column } from '../../ui/table/column.ts'
import classes from './node-columns.module.css'
import { texts } from '../../../shared/texts/ui/nodes.ts'
import { isAway } from '../../../shared/node-health.ts'

/** Whether the node's figures are from an earlier response. */
export const isStale = (node: Node): boolean => isAway(node.health) && node.lastSeenAtMs !== null

export const nodeColumns: readonly Column<Node>[] = [
  {
    id: 'name',
    header: texts.node,
    width: 'minmax(150px, 1.4fr)',
    sortBy: ({ name }) => name,
    cell: (node) => (
      <span className="line">
        <NodeHealthDot node={node} />
        <strong className="ellipsis semibold">{node.name}</strong>
      </span>
    )
  },
  {
    id: 'health',
    header: texts.state,
    width: '116px',
    hideBelowPx: 430,
    sortBy: nodeWord,
    cell: (node) => (
      <span className={isTroubled(node) ? 'tone-bad' : 'dim'}>
        {nodeWord(node)} {troubleSinceMs(node) !== null && <RelativeTime atMs={troubleSinceMs(node)} />}
      </span>
    )
  },
  {
    id: 'group',
    header: texts.group,
    width: 'minmax(80px, 0.7fr)',
    hideBelowPx: 1040,
    sortBy: ({ group }) => group,
    cell: ({ group }) => <span className="dim">{group ?? ''}</span>
  },
  {
    id: 'slots',
    header: texts.slots,
    width: 'minmax(130px, 1fr)',
    sortBy: ({ runs, slots }) => runs.length / slots,
    cell: (node) => <SlotsBar node={node} />
  },
  {
    id: 'pending',
    header: texts.pending,
    width: '76px',
    align: 'end',
    hideBelowPx: 620,
    sortBy: ({ pending }) => pending,
    cell: ({ pending }) => number(pending)
  },
  {
    id: 'finished',
    header: texts.finished,
    width: '80px',
    align: 'end',
    hideBelowPx: 900,
    sortBy: ({ finished }) => finished,
    cell: ({ finished }) => number(finished)
  },
  {
    id: 'latency',
    header: texts.latency,
    width: '96px',
    align: 'end',
    hideBelowPx: 520,
    sortBy: ({ latencyMs }) => latencyMs,
    cell: (node) =>
      isStale(node) ? (
        <RelativeTime atMs={node.lastSeenAtMs} ago />
      ) : node.latencyMs === null || node.kind !== 'scrapyd' ? (
        <span className="faint">–</span>
      ) : (
        texts.milliseconds(Math.round(node.latencyMs))
      )
  },
  {
    id: 'version',
    header: texts.scrapyd,
    width: '84px',
    hideBelowPx: 700,
    sortBy: ({ scrapydVersion }) => scrapydVersion,
    cell: ({ kind, scrapydVersion }) => <span className="dim">{KIND_WORDS[kind] ?? scrapydVersion ?? '–'}</span>
  },
  {
    id: 'address',
    header: texts.address,
    width: 'minmax(150px, 1.8fr)',
    hideBelowPx: 820,
    sortBy: ({ url }) => url,
    cell: (node) => <Address node={node} />
  },
  {
    id: 'tags',
    header: texts.tags,
    width: 'minmax(90px, 1fr)',
    hideBelowPx: 960,
    cell: ({ tags }) => (
      <span className={classes.tags}>
        {tags.map((tag) => (
          <Badge key={tag} size="sm" variant="default" tt="none" fw={500}>
            {tag}
          </Badge>
        ))}
      </span>
    )
  }
]

const KIND_WORDS: Partial<Record<Node['kind'], string>> = { local: texts.builtIn, kubernetes: texts.cluster }

const troubleSinceMs = ({ unreachableSinceMs, stuckSinceMs }: Node) => unreachableSinceMs ?? stuckSinceMs

const number = (value: number | null) =>
  value === null ? <span className="faint">–</span> : value === 0 ? <span className="faint">0</span> : value

/** Slots with our runs are filled, slots with external runs are hatched, and free slots are empty. */
export function SlotsBar({ node }: { node: Node }) {
  const external = node.runs.filter(({ jobId }) => jobId === null).length
  const ours = node.runs.length - external
  const share = (count: number) => `${Math.min(100, (count / Math.max(node.slots, node.runs.length)) * 100)}%`
  return (
    <span className={classes.slots}>
      <span className={classes.bar} data-trouble={isStale(node) || undefined}>
        <i style={{ width: share(ours) }} />
        <i data-external style={{ width: share(external) }} />
      </span>
      <span>
        {node.runs.length}
        <span className="faint">/{node.slots}</span>
      </span>
    </span>
  )
}

/** `10.0.0.1:6443 / crawls`: the host of the API server, and the namespace. */
export function clusterOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host} / ${pathname.split('/').at(-2) ?? ''}`
}

function Address({ node }: { node: Node }) {
  if (node.kind === 'local') return <span className="faint">{texts.insideScrapdeck}</span>
  if (node.kind === 'engine')
    return <span className="faint">{texts.insideEngine(engineOfAddress(node.url) ?? node.url)}</span>
  if (node.kind === 'pulling') return <span className="faint">{texts.pulls}</span>
  const { ssh, inner } = splitAddress(node.url)
  const bare = inner.replace(/^https?:\/\//, '').replace(/\/$/, '')
  const shown =
    node.kind === 'kubernetes' ? clusterOf(node.url) : ssh === null ? bare : texts.viaSshHost(bare, nameOfSshHost(ssh))
  const overTls = inner.startsWith('https:')
  const encrypted = overTls || ssh !== null
  return (
    <span className="line">
      <Tooltip
        label={[
          overTls ? texts.encryptedTls : encrypted ? texts.encryptedToSshHost : texts.notEncrypted,
          node.kind === 'kubernetes'
            ? texts.clusterNamespaceHint
            : node.username === null
              ? texts.noAuthentication
              : texts.userFact(node.username)
        ].join(', ')}
      >
        {encrypted ? (
          <IconLock size={13} className="tone-off" aria-label={texts.encrypted} />
        ) : (
          <IconLockOpen size={13} className="tone-wait" aria-label={texts.notEncrypted} />
        )}
      </Tooltip>
      <span className="ellipsis dim">{shown}</span>
    </span>
  )
}
