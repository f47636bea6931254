import { Button } from '@mantine/core'
import { IconPlus, IconServer2, IconAlertTriangle, IconRadar2 } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useRef, useState } from 'react'
import type { Node } from '../../../shared/contract/index.ts'
import { useMay } from '../../api/use-me.ts'
import { useApi } from '../../api/api.tsx'
import { useKeys } from '../../state/keys.ts'
import { FilterBox } from '../../ui/filter-box.tsx'
import { joinFacts } from '../../ui/join-facts.ts'
import { plural } from '../../ui/numbers.ts'
import { ListAndPane, ListHead } from '../../ui/list-screen.tsx'
import { ScreenHead } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { isTroubled } from '../../ui/status.tsx'
import { VirtualTable } from '../../ui/table/virtual-table.tsx'
import { AddNodesDialog } from './add-nodes-dialog.tsx'
import { isStale, nodeColumns } from './node-columns.tsx'
import { NodeDetail } from './node-detail.tsx'
import classes from './nodes-screen.module.css'

const route = getRouteApi('/nodes')

export function NodesScreen() {
  const { query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions())
  const { node: openId, add, log, group } = route.useSearch()
  const navigate = route.useNavigate()
  const { may } = useMay('nodes.change')
  const [filter, setFilter] = useState('')
  const filterBox = useRef<HTMLInputElement>(null)
  const open = (node: Node | null) =>
    void navigate({ search: (old) => ({ ...old, node: node?.id, log: undefined }), replace: openId !== undefined })
  const setGroup = (next: string | undefined) =>
    void navigate({ search: (old) => ({ ...old, group: next }), replace: true })
  const setAdding = (adding: boolean) => void navigate({ search: (old) => ({ ...old, add: adding || undefined }) })
  useKeys('Nodes', [
    { key: '/', label: 'Filter', run: () => filterBox.current?.focus() },
    ...(may ? [{ key: 'a', label: 'Add nodes', run: () => setAdding(true) }] : []),
    { key: 'Escape', label: 'Close the detail', run: () => open(null) }
  ])
  const groups = useMemo(() => groupsOf(nodes.data?.nodes ?? []), [nodes.data])
  const shown = useMemo(
    () => filterNodes(nodes.data?.nodes ?? [], filter).filter((node) => group === undefined || node.group === group),
    [nodes.data, filter, group]
  )
  const opened = nodes.data?.nodes.find(({ id }) => id === openId)
  return (
    <>
      <ListHead>
        <ScreenHead title="Nodes" note={nodes.data && fleetWords(nodes.data.nodes)}>
          <FilterBox
            label="Filter nodes"
            placeholder="Name, address, tag, state"
            value={filter}
            onChange={setFilter}
            onClear={() => setFilter('')}
            inputRef={filterBox}
          />
          <SourcesLink />
          {may && (
            <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => setAdding(true)}>
              Add nodes
            </Button>
          )}
        </ScreenHead>
      </ListHead>
      {groups.length > 0 && (
        <div className={classes.groups} role="toolbar" aria-label="Groups">
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
              {troubled > 0 && <span className="tone-bad">&nbsp;· {troubled} with problems</span>}
            </Button>
          ))}
        </div>
      )}
      <ListAndPane>
        <QueryState query={nodes} what="the nodes">
          {() => (
            <VirtualTable
              label="Nodes"
              rows={shown}
              rowId={idOf}
              columns={nodeColumns}
              openId={openId ?? null}
              onOpen={open}
              isStale={isStale}
              primary
              empty={
                filter === '' && group === undefined ? (
                  <EmptyState
                    icon={<IconServer2 size={32} stroke={1.3} />}
                    title="No nodes yet"
                    action={may && <Button onClick={() => setAdding(true)}>Add nodes…</Button>}
                  >
                    A node is a Scrapyd server that runs spiders. Paste the addresses of your servers.
                  </EmptyState>
                ) : (
                  <EmptyState
                    title={`No nodes match “${[group, filter].filter(Boolean).join(' ')}”`}
                    action={
                      <Button
                        onClick={() => {
                          setFilter('')
                          setGroup(undefined)
                        }}
                      >
                        Clear filter
                      </Button>
                    }
                  />
                )
              }
            />
          )}
        </QueryState>
        {opened && (
          <NodeDetail
            key={opened.id}
            node={opened}
            openLog={log}
            onLog={(environmentId) => void navigate({ search: (old) => ({ ...old, log: environmentId }) })}
            onClose={() => open(null)}
          />
        )}
      </ListAndPane>
      {add && may && <AddNodesDialog onClose={() => setAdding(false)} />}
    </>
  )
}

const idOf = (node: Node) => node.id

function filterNodes(nodes: readonly Node[], filter: string): readonly Node[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return nodes
  return nodes.filter(({ name, url, tags, health, mode, scrapydVersion, group, stuckSinceMs }) => {
    const state = [health, mode, stuckSinceMs === null ? '' : 'stuck']
    const haystack = [name, url, ...state, scrapydVersion, group, ...tags].join(' ').toLowerCase()
    return words.every((word) => haystack.includes(word))
  })
}

/** Groups with their number of nodes, in alphabetical order. */
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
  return joinFacts(plural(nodes.length, 'node'), plural(slots, 'slot'), troubled > 0 && `${troubled} with problems`)
}

/** Links from the nodes to their sources, with an icon if a source has a problem. */
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
          <IconAlertTriangle size={14} className="tone-wait" role="img" aria-label="A source has a problem" />
        ) : (
          <IconRadar2 size={14} aria-hidden />
        )
      }
    >
      Sources{sources.length > 0 && ` ${sources.length}`}
    </Button>
  )
}
