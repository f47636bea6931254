import { Button, Group } from '@mantine/core'
import { IconPlus, IconServer2, IconAlertTriangle, IconRadar2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { useApi } from '../../api/api.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { ListScreen, matchesFilter } from '../../ui/list-screen.tsx'
import { EmptyState, NoMatch } from '../../ui/states.tsx'
import { isTroubled } from '../../ui/status.tsx'
import { AddNodesDialog } from './add-nodes-dialog.tsx'
import { isStale, nodeColumns } from './node-columns.tsx'
import { NodeDetail } from './node-detail.tsx'
import { texts } from '../../../shared/texts/ui/nodes.ts'

const route = getRouteApi('/nodes')

export function NodesScreen() {
  const { query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions())
  const { node: openId, add, log, group } = route.useSearch()
  const navigate = route.useNavigate()
  const { may } = useMay('nodes.change')
  const [filter, setFilter] = useState('')
  const open = (node: Node | null) =>
    void navigate({ search: (old) => ({ ...old, node: node?.id, log: undefined }), replace: openId !== undefined })
  const setGroup = (next: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, group: next }), replace: true })
  const setAdding = (adding: boolean) => void navigate({ search: (old) => ({ ...old, add: adding || undefined }) })
  const groups = useMemo(() => groupsOf(nodes.data?.nodes ?? []), [nodes.data])
  const shown = useMemo(
    () => (nodes.data?.nodes ?? []).filter((node) => isShown(node, filter, group)),
    [nodes.data, filter, group]
  )
  const opened = nodes.data?.nodes.find(({ id }) => id === openId)
  return (
    <>
      <ListScreen
        title={texts.nodes}
        note={nodes.data && fleetWords(nodes.data.nodes)}
        filterBox={{
          label: texts.filterNodes,
          placeholder: texts.filterPlaceholder,
          value: filter,
          onChange: setFilter
        }}
        actions={
          <>
            <SourcesLink />
            {may && (
              <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => setAdding(true)}>
                {texts.addNodes}
              </Button>
            )}
          </>
        }
        keys={[
          ...(may ? [{ key: 'a', label: texts.addNodes, run: () => setAdding(true) }] : []),
          { key: 'Escape', label: texts.closeDetail, run: () => open(null) }
        ]}
        bar={
          groups.length > 0 && (
            <Group align="stretch" gap={6} px={18} pb={10} role="toolbar" aria-label={texts.groups}>
              {groups.map(({ name, count, troubled }) => (
                <Button
                  key={name}
                  size="compact-xs"
                  variant={group === name ? 'light' : 'default'}
                  aria-pressed={group === name}
                  onClick={() => setGroup(group === name ? undefined : name)}
                >
                  {name}
                  <span className="faint">&nbsp;{count}</span>
                  {troubled > 0 && <span className="tone-bad">&nbsp;· {texts.withProblems(troubled)}</span>}
                </Button>
              ))}
            </Group>
          )
        }
        query={nodes}
        what={texts.theNodes}
        table={{
          rows: shown,
          rowId: idOf,
          columns: nodeColumns,
          openId,
          onOpen: open,
          isStale,
          empty:
            filter === '' && group === undefined ? (
              <EmptyState
                icon={<IconServer2 size={32} stroke={1.3} />}
                title={texts.noNodesYet}
                action={may && <Button onClick={() => setAdding(true)}>{texts.addNodesMenu}</Button>}
              >
                {texts.noNodesHint}
              </EmptyState>
            ) : (
              <NoMatch
                title={texts.noMatchingNodes([group, filter].filter(Boolean).join(' '))}
                onClear={() => {
                  setFilter('')
                  setGroup(undefined)
                }}
              />
            )
        }}
        pane={
          opened && (
            <NodeDetail
              key={opened.id}
              node={opened}
              openLog={log}
              onLog={(environmentId) => void navigate({ search: (old) => ({ ...old, log: environmentId }) })}
              onClose={() => open(null)}
            />
          )
        }
      />
      {add && may && <AddNodesDialog onClose={() => setAdding(false)} />}
    </>
  )
}

const idOf = (node: Node) => node.id

function isShown(node: Node, filter: string, inGroup: string | undefined): boolean {
  const { name, url, tags, health, mode, scrapydVersion, group, stuckSinceMs } = node
  if (inGroup !== undefined && group !== inGroup) return false
  const state = [health, mode, stuckSinceMs === null ? '' : 'stuck']
  return matchesFilter(filter, [name, url, ...state, scrapydVersion, group, ...tags])
}

function groupsOf(nodes: readonly Node[]): { name: string; count: number; troubled: number }[] {
  const groups = Map.groupBy(
    nodes.filter(({ group }) => group !== null),
    ({ group }) => group!
  )
  return [...groups]
    .map(([name, members]) => ({ name, count: members.length, troubled: members.filter(isTroubled).length }))
    .sort((left, right) => left.name.localeCompare(right.name))
}

/** `12 nodes · 96 slots · 2 with problems` */
function fleetWords(nodes: readonly Node[]): string {
  const slots = nodes.reduce((sum, node) => sum + node.slots, 0)
  const troubled = nodes.filter(isTroubled).length
  return joinFacts(texts.nodeCount(nodes.length), texts.slotCount(slots), troubled > 0 && texts.withProblems(troubled))
}

function SourcesLink() {
  const { query } = useApi()
  const sources = useQuery(query.discovery.list.queryOptions()).data?.sources ?? []
  const hasProblem = sources.some(({ problem }) => problem !== null)
  return (
    <Button
      component={Link}
      to="/nodes/sources"
      leftSection={
        hasProblem ? (
          <IconAlertTriangle size={14} className="tone-wait" role="img" aria-label={texts.sourceHasProblem} />
        ) : (
          <IconRadar2 size={14} aria-hidden />
        )
      }
    >
      {texts.sources}
      {sources.length > 0 && ` ${sources.length}`}
    </Button>
  )
}
