import { Dialog } from '../../../ui/dialog.tsx'
import { Autocomplete, SegmentedControl, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Chain, ChainSettings } from '../../../../shared/contract/index.ts'
import { versionOf } from '../../../../shared/version-of.ts'
import { useApi } from '../../../api/api.tsx'
import { useFormOf } from '../../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../../ui/fields/schema-form.tsx'
import { TemplateFields } from '../editor/template-fields.tsx'
import { ChainForm, type ChainTexts, startChain } from './chain-form.ts'
import { ENDINGS } from './chain-words.tsx'
import classes from './chains.module.css'

/** What to run, after which spider, on which outcome. */
export function ChainDialog({ chain, onClose }: { chain: Chain | null; onClose: () => void }) {
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
