import { Button } from '@mantine/core'
import { IconArrowsJoin2, IconPlus, IconRefreshAlert } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { ChainsSearch } from '../../../state/search.ts'
import { useApi } from '../../../api/api.tsx'
import { useMay } from '../../../api/use-me.ts'
import { useKeys } from '../../../state/keys.ts'
import { plural } from '../../../ui/numbers.ts'
import { Panel, ScreenHead } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { PanelsScreen } from '../../../ui/panels-screen.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import { ChainDialog } from './chain-dialog.tsx'
import { ChainGraph } from './chain-graph-view.tsx'
import { layOutChains } from './chain-graph.ts'
import { ChainRows } from './chain-rows.tsx'
import classes from './chains.module.css'

/** Chains: as a graph, and as an editable list. */
export function ChainsScreen() {
  const { query } = useApi()
  const chains = useQuery(query.chains.list.queryOptions())
  const search = getRouteApi('/schedules/chains').useSearch()
  const navigate = useNavigate({ from: '/schedules/chains' })
  const go = (next: ChainsSearch) => void navigate({ search: next })
  const { may } = useMay('schedules.change')
  useKeys('Chains', may ? [{ key: 'a', label: 'Add chain', run: () => go({ add: true }) }] : [])
  const editing = chains.data?.chains.find(({ id }) => id === search.chain)
  const addButton = may && (
    <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => go({ add: true })}>
      Add chain
    </Button>
  )
  return (
    <PanelsScreen>
      <ScreenHead
        title="Schedules"
        views={<SchedulesTabs />}
        note={chains.data && plural(chains.data.chains.length, 'chain')}
      >
        {addButton}
      </ScreenHead>
      <QueryState query={chains} what="the chains" rows={8}>
        {(data) => {
          if (data.chains.length === 0)
            return (
              <EmptyState icon={<IconArrowsJoin2 size={32} stroke={1.3} />} title="No chains yet" action={addButton}>
                A chain runs spiders when a job of another spider succeeds, fails or ends. Stats of the first job can be
                arguments of the next.
              </EmptyState>
            )
          const graph = layOutChains(data.chains)
          return (
            <>
              {graph.circles.map((circle) => (
                <p key={circle.join()} className={classes.circle} role="status">
                  <IconRefreshAlert size={16} className="tone-wait" aria-hidden />
                  <span>
                    <strong>Circular chain:</strong> {[...circle, circle[0]].join(' → ')}. Each job runs the circle only
                    once.
                  </span>
                </p>
              ))}
              <Panel title="Graph" flush>
                <ChainGraph graph={graph} onOpen={(chain) => go({ chain })} />
              </Panel>
              <Panel title="Chains" flush>
                <ChainRows chains={data.chains} onEdit={(chain) => go({ chain })} />
              </Panel>
            </>
          )
        }}
      </QueryState>
      {(search.add === true || editing !== undefined) && (
        <ChainDialog key={editing?.id ?? 'new'} chain={editing ?? null} onClose={() => go({})} />
      )}
    </PanelsScreen>
  )
}
