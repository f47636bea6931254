import { Dialog } from '../../ui/dialog.tsx'
import { Group, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { OutcomeRules, Project } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import { CODE_INPUT } from '../../ui/fields/code-input.ts'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { Select } from '../../ui/fields/select.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import classes from './projects.module.css'
import { NONE, ON, SpiderOutcomeForm, type SpiderOutcomeTexts, spiderOutcomeTexts } from './spider-outcomes-form.ts'

const COUNTS = { maxErrors: 'More errors than', minItems: 'Fewer items than', minPages: 'Fewer pages than' } as const

/** When a run of a single spider counts as failed; the settings of the project have the rules for all. */
export function SpiderOutcomesDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const { client } = useApi()
  const { outcome, spiderOutcomes } = project.settings
  const spiders = [...new Set([...(versionOf(project)?.spiders ?? []), ...Object.keys(spiderOutcomes)])].sort()
  const [spider, setSpider] = useState(spiders[0] ?? '')
  const ownOf = (name: string) =>
    spiderOutcomeTexts(Object.hasOwn(spiderOutcomes, name) ? spiderOutcomes[name] : undefined)
  const form = useFormOf<SpiderOutcomeTexts, OutcomeRules | null>({
    schema: SpiderOutcomeForm,
    start: () => ownOf(spider),
    save: async (own) => {
      await client.projects.changeSettings({ project: project.name, settings: { spiderOutcomes: { [spider]: own } } })
      onClose()
    }
  })
  const choose = (next: string | null) => {
    setSpider(next ?? '')
    form.restart(ownOf(next ?? ''))
  }
  return (
    <Dialog opened onClose={onClose} title={`Outcome rules for individual spiders in ${project.name}`} size={640}>
      <SchemaForm form={form} className={classes.settings}>
        <Select
          label="Spider"
          description={form.isDirty ? 'Save or undo the changes below before you choose another spider.' : undefined}
          data={spiders}
          value={spider}
          onChange={choose}
          disabled={form.isDirty}
          searchable={spiders.length > 8}
          allowDeselect={false}
        />
        <p className="dim">A run of this spider counts as failed if it has:</p>
        <Group align="stretch" gap="8px 20px">
          {(Object.keys(COUNTS) as (keyof typeof COUNTS)[]).map((name) => (
            <TextInput
              key={name}
              {...form.input(name)}
              label={COUNTS[name]}
              placeholder={String(outcome?.[name] ?? 'no rule')}
              classNames={{ wrapper: classes.weight }}
            />
          ))}
        </Group>
        <Select
          {...form.input('requireResponse')}
          label="No response at all"
          data={[
            { value: '', label: `as the project: ${outcome?.requireResponse === true ? 'fails' : 'no rule'}` },
            { value: ON, label: 'fails' },
            { value: NONE, label: 'no rule' }
          ]}
          allowDeselect={false}
        />
        <TextInput
          {...form.input('finishReasons')}
          label="Successful finish reasons"
          description="A run that ends with any other reason counts as failed. Separate reasons with commas."
          placeholder={outcome?.finishReasons?.join(', ') ?? 'no rule'}
          {...CODE_INPUT}
        />
        <p className="dim">
          Leave a field empty to apply the project’s rule. Enter “none” to turn it off for this spider.
        </p>
        <FormFoot form={form} submit="Save rules" says="The rules apply when a run ends." onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
