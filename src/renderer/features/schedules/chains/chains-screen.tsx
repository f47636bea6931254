import { ActionIcon, Autocomplete, Button, Flex, SegmentedControl, Switch, TextInput, Tooltip } from '@mantine/core'
import { IconArrowsJoin2, IconPlus, IconRefreshAlert, IconAlertTriangle, IconTrash } from '@tabler/icons-react'
import { useQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi, useNavigate, Link } from '@tanstack/react-router'
import type { ChainsSearch } from '../../../state/search.ts'
import { useApi } from '../../../api/api.tsx'
import { useMay } from '../../../api/use-me.ts'
import { useKeys } from '../../../state/keys.ts'
import { Panel, ScreenHead, PanelsScreen } from '../../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../../ui/states.tsx'
import { SchedulesTabs } from '../schedules-tabs.tsx'
import { ChainGraph } from './chain-graph-view.tsx'
import { layOutChains } from './chain-graph.ts'
import fields from '../../../ui/fields/form.module.css'
import classes from './chains.module.css'
import { Dialog } from '../../../ui/dialog.tsx'
import { type Chain, ChainSettings, type ChainId } from '../../../../shared/contract/index.ts'
import { versionOf } from '../../../../shared/version-of.ts'
import { useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../../ui/fields/schema-form.tsx'
import { TemplateFields } from '../editor/template-fields.tsx'
import { ENDINGS, spiderWords } from './chain-words.tsx'
import { z } from 'zod'
import { newTemplate, templateForm, templateOf, type TemplateTexts } from '../editor/schedule-form.ts'
import { notifyError, notifyUndo } from '../../../ui/notify.tsx'
import { RelativeTime } from '../../../ui/time.tsx'
import { whatWords } from '../schedule-words.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

export function ChainsScreen() {
  const { query } = useApi()
  const chains = useQuery(query.chains.list.queryOptions())
  const search = getRouteApi('/schedules/chains').useSearch()
  const navigate = useNavigate({ from: '/schedules/chains' })
  const go = (next: ChainsSearch) => void navigate({ search: next })
  const { may } = useMay('schedules.change')
  useKeys(texts.chains, may ? [{ key: 'a', label: texts.addChain, run: () => go({ add: true }) }] : [])
  const editing = chains.data?.chains.find(({ id }) => id === search.chain)
  const addButton = may && (
    <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => go({ add: true })}>
      {texts.addChain}
    </Button>
  )
  return (
    <PanelsScreen>
      <ScreenHead
        title={texts.schedules}
        views={<SchedulesTabs />}
        note={chains.data && texts.chainCount(chains.data.chains.length)}
      >
        {addButton}
      </ScreenHead>
      <QueryState query={chains} what={texts.theChains} rows={8}>
        {(data) => {
          if (data.chains.length === 0)
            return (
              <EmptyState
                icon={<IconArrowsJoin2 size={32} stroke={1.3} />}
                title={texts.noChainsYet}
                action={addButton}
              >
                {texts.noChainsHint}
              </EmptyState>
            )
          const graph = layOutChains(data.chains)
          return (
            <>
              {graph.circles.map((circle) => (
                <p key={circle.join()} className={`${classes.circle} notice-wait`} role="status">
                  <IconRefreshAlert size={16} className="tone-wait" aria-hidden />
                  <span>
                    {texts.circularChain(
                      <strong>{texts.circularChainLabel}</strong>,
                      [...circle, circle[0]].join(' → ')
                    )}
                  </span>
                </p>
              ))}
              <Panel title={texts.graph} flush>
                <ChainGraph graph={graph} onOpen={(chain) => go({ chain })} />
              </Panel>
              <Panel title={texts.chains} flush>
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
    <Dialog opened onClose={onClose} title={chain === null ? texts.addChain : texts.editNamed(chain.name)} size={640}>
      <SchemaForm form={form}>
        <fieldset className={`${fields.part} box`}>
          <legend>{texts.chainTrigger}</legend>
          <div className={fields.pair}>
            <Autocomplete
              {...form.input('project')}
              label={texts.project}
              placeholder={texts.anyExample}
              data={projects.map(({ name }) => name)}
              autoFocus={chain === null}
              openOnFocus={false}
            />
            <Autocomplete
              {...form.input('spider')}
              label={texts.spider}
              placeholder={texts.anySpiderExample}
              data={['*', ...spiders]}
            />
          </div>
          <SegmentedControl
            {...form.input('on')}
            aria-label={texts.outcome}
            fullWidth
            data={Object.entries(ENDINGS).map(([value, { sentence }]) => ({ value, label: sentence }))}
          />
        </fieldset>
        <fieldset className={`${fields.part} box`}>
          <legend>{texts.run}</legend>
          <TemplateFields fields={form.within('run')} place="chain" />
        </fieldset>
        <TextInput {...form.input('name')} label={texts.name} placeholder={form.output?.name} maxLength={200} />
        <FormFoot form={form} submit={chain === null ? texts.addChain : texts.saveChain} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}

export interface ChainTexts {
  name: string
  project: string
  /** `*` means every spider of the project. */
  spider: string
  on: Chain['on']
  run: TemplateTexts
}

export function startChain(chain: Chain | null): ChainTexts {
  if (chain === null) return { name: '', project: '', spider: '', on: 'succeeded', run: newTemplate() }
  const { name, project, spider, on, run } = chain
  return { name, project, spider, on, run: templateOf(run) }
}

export const ChainForm: z.ZodType<Omit<ChainSettings, 'enabled'>, ChainTexts> = z
  .object({
    name: z.string().trim(),
    project: z.string().trim().min(1, texts.enterChainProject).pipe(ChainSettings.shape.project),
    spider: z.string().trim().min(1, texts.enterChainSpider),
    on: ChainSettings.shape.on,
    run: templateForm('chain')
  })
  .transform((chain) => {
    const after = chain.spider === '*' ? chain.project : chain.spider
    return { ...chain, name: chain.name || texts.chainName(chain.run.spiders.join(', '), after).slice(0, 200) }
  })

function ChainRows({ chains, onEdit }: { chains: readonly Chain[]; onEdit: (id: ChainId) => void }) {
  return (
    <ul className="divided">
      {chains.map((chain) => (
        <ChainRow key={chain.id} chain={chain} onEdit={() => onEdit(chain.id)} />
      ))}
    </ul>
  )
}

function ChainRow({ chain, onEdit }: { chain: Chain; onEdit: () => void }) {
  const { client, query } = useApi()
  const { id, name, enabled, project, spider, on, run, firedCount, lastFiredAtMs, problem } = chain
  const { may } = useMay('schedules.change', { project })
  const update = useMutation(
    query.chains.update.mutationOptions({ onError: (error) => notifyError(texts.couldNotChange(name), error) })
  )
  const remove = useMutation(
    query.chains.remove.mutationOptions({
      onSuccess: () => {
        // Only the engine knows the secrets, so Undo creates the chain without them.
        notifyUndo(texts.chainRemoved(name, run.secretNames.length > 0), () =>
          client.chains.create(ChainSettings.parse(chain))
        )
      },
      onError: (error) => notifyError(texts.couldNotRemove(name), error)
    })
  )
  const { tone, sentence, Icon } = ENDINGS[on]
  return (
    <li className={classes.row} data-off={!enabled || undefined} aria-label={texts.chainNamed(name)}>
      <Switch
        size="xs"
        checked={enabled}
        disabled={!may || update.isPending}
        onChange={(event) => update.mutate({ ...ChainSettings.parse(chain), id, enabled: event.currentTarget.checked })}
        aria-label={texts.isOn(name)}
      />
      <div className={`${classes.rowWords} grow`}>
        <strong>{name}</strong>
        <p>
          {texts.chainSentence(
            <span className={classes.what}>{spiderWords(project, spider)}</span>,
            <span className={`tone-${tone} ${classes.ending}`}>
              <Icon size={13} stroke={2.2} aria-hidden /> {sentence}
            </span>,
            <span className={classes.what}>{whatWords([run])}</span>
          )}
        </p>
        {problem !== null && (
          <p className={classes.problem} role="alert">
            <IconAlertTriangle size={14} className="tone-wait" aria-hidden /> {problem}
          </p>
        )}
      </div>
      <span className={`${classes.fired} dim fixed`}>
        {firedCount === 0
          ? texts.chainNeverRan
          : lastFiredAtMs === null
            ? texts.chainRuns(firedCount)
            : texts.chainLastRun(texts.chainRuns(firedCount), <RelativeTime atMs={lastFiredAtMs} ago />)}
      </span>
      <Flex component="span" align="center" gap={8} justify="flex-end" className={`${classes.rowActs} fixed`}>
        {!spider.includes('*') && !project.includes('*') && (
          <Link to="/jobs" search={{ project, spider }} className="small">
            {texts.showJobs}
          </Link>
        )}
        {may && (
          <>
            <Button size="compact-xs" onClick={onEdit} aria-label={texts.editNamed(name)}>
              {texts.editItem}
            </Button>
            <Tooltip label={texts.remove}>
              <ActionIcon
                size={24}
                disabled={remove.isPending}
                onClick={() => remove.mutate({ id })}
                aria-label={texts.removeNamed(name)}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </Tooltip>
          </>
        )}
      </Flex>
    </li>
  )
}
