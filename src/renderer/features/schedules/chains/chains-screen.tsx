import { Button, Autocomplete, SegmentedControl, TextInput } from '@mantine/core'
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
import { ChainGraph } from './chain-graph-view.tsx'
import { layOutChains } from './chain-graph.ts'
import { ChainRows } from './chain-rows.tsx'
import classes from './chains.module.css'
import { Dialog } from '../../../ui/dialog.tsx'
import type { Chain, ChainSettings } from '../../../../shared/contract/index.ts'
import { versionOf } from '../../../../shared/version-of.ts'
import { useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../../ui/fields/schema-form.tsx'
import { TemplateFields } from '../editor/template-fields.tsx'
import { ChainForm, type ChainTexts, startChain } from './chain-form.ts'
import { ENDINGS } from './chain-words.tsx'

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

/** What to run, after which spider, on which outcome. */
function ChainDialog({ chain, onClose }: { chain: Chain | null; onClose: () => void }) {
  const { client, query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const form = useFormOf<ChainTexts, Omit<ChainSettings, 'enabled'>>({
    schema: ChainForm,
    start: () => startChain(chain),
    save: async (settings) => {
      if (chain === null) await client.chains.create(settings)
      else await client.chains.update({ ...settings, id: chain.id, enabled: chain.enabled })
      onClose()
    }
  })
  const project = projects.find(({ name }) => name === form.values.project)
  const spiders = (project && versionOf(project)?.spiders) ?? []
  return (
    <Dialog opened onClose={onClose} title={chain === null ? 'Add chain' : `Edit ${chain.name}`} size={640}>
      <SchemaForm form={form} className={classes.form}>
        <fieldset className={classes.part}>
          <legend>When a job of</legend>
          <div className={classes.pair}>
            <Autocomplete
              {...form.input('project')}
              label="Project"
              placeholder="* for any"
              data={projects.map(({ name }) => name)}
              autoFocus={chain === null}
              openOnFocus={false}
            />
            <Autocomplete
              {...form.input('spider')}
              label="Spider"
              placeholder="* for any, price_* for a prefix"
              data={['*', ...spiders]}
            />
          </div>
          <SegmentedControl
            {...form.input('on')}
            aria-label="Outcome"
            fullWidth
            data={Object.entries(ENDINGS).map(([value, { sentence }]) => ({ value, label: sentence }))}
          />
        </fieldset>
        <fieldset className={classes.part}>
          <legend>Run</legend>
          <TemplateFields fields={form.within('run')} place="chain" />
        </fieldset>
        <TextInput {...form.input('name')} label="Name" placeholder={form.output?.name} maxLength={200} />
        <FormFoot form={form} submit={chain === null ? 'Add chain' : 'Save chain'} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
