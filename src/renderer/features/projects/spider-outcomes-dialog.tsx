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
import { texts } from '../../../shared/texts/ui/projects.ts'

const COUNTS = {
  maxErrors: texts.moreErrorsThan,
  minItems: texts.fewerItemsThan,
  minPages: texts.fewerPagesThan
} as const

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
    <Dialog opened onClose={onClose} title={texts.spiderRulesTitle(project.name)} size={640}>
      <SchemaForm form={form} className={classes.settings}>
        <Select
          label={texts.spider}
          description={form.isDirty ? texts.saveBeforeChoosingSpider : undefined}
          data={spiders}
          value={spider}
          onChange={choose}
          disabled={form.isDirty}
          searchable={spiders.length > 8}
          allowDeselect={false}
        />
        <p className="dim">{texts.spiderRulesIntro}</p>
        <Group align="stretch" gap="8px 20px">
          {(Object.keys(COUNTS) as (keyof typeof COUNTS)[]).map((name) => (
            <TextInput
              key={name}
              {...form.input(name)}
              label={COUNTS[name]}
              placeholder={String(outcome?.[name] ?? texts.noRule)}
              classNames={{ wrapper: classes.weight }}
            />
          ))}
        </Group>
        <Select
          {...form.input('requireResponse')}
          label={texts.noResponseAtAll}
          data={[
            { value: '', label: outcome?.requireResponse === true ? texts.asProjectFails : texts.asProjectNoRule },
            { value: ON, label: texts.fails },
            { value: NONE, label: texts.noRule }
          ]}
          allowDeselect={false}
        />
        <TextInput
          {...form.input('finishReasons')}
          label={texts.successfulFinishReasons}
          description={texts.spiderFinishReasonsHint}
          placeholder={outcome?.finishReasons?.join(', ') ?? texts.noRule}
          {...CODE_INPUT}
        />
        <p className="dim">{texts.spiderRulesHint}</p>
        <FormFoot form={form} submit={texts.saveRules} says={texts.spiderRulesApply} onCancel={onClose} />
      </SchemaForm>
    </Dialog>
  )
}
