import { Dialog } from '../../ui/dialog.tsx'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type JobDefaults, NO_DEFAULTS, type Project } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { inheritedBy } from '../../ui/fields/inherited.ts'
import { ArgumentsAndSettings } from '../../ui/fields/arguments-and-settings.tsx'
import { InheritedRows } from '../../ui/fields/inherited-rows.tsx'
import { useKnownNames } from '../../ui/fields/job-target.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { ValueRows } from '../../ui/fields/value-rows.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { WhereFields } from '../../ui/fields/where-fields.tsx'
import { changeOfDefaults, DefaultsForm, type DefaultsTexts, startDefaults } from './defaults-form.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

export function DefaultsDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const { client, query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  /** null: all spiders. */
  const [spider, setSpider] = useState<string | null>(null)
  const { defaults, spiderDefaults } = project.settings
  const spiders = [...new Set([...(versionOf(project)?.spiders ?? []), ...Object.keys(spiderDefaults)])].sort()
  const form = useFormOf<DefaultsTexts, JobDefaults>({
    schema: DefaultsForm,
    start: () => startDefaults(defaults),
    save: async (next) => {
      await client.projects.changeSettings({ project: project.name, settings: changeOfDefaults(spider, next) })
      onClose()
    }
  })
  const choose = (next: string | null) => {
    setSpider(next)
    form.restart(startDefaults(next === null ? defaults : (spiderDefaults[next] ?? NO_DEFAULTS)))
  }
  const keptPriority = (spider === null ? null : spiderDefaults[spider]?.priority) ?? defaults.priority ?? 0
  const inherited = inheritedBy(spider === null ? null : project.settings, [])
  const known = useKnownNames({ project: project.name, spiders: spider === null ? [] : [spider] })
  return (
    <Dialog opened onClose={onClose} title={texts.defaultsOf(project.name)} size={640}>
      <SchemaForm form={form}>
        <Select
          label={texts.defaultsFor}
          description={form.isDirty ? texts.saveBeforeChoosing : undefined}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          data={[
            { value: '', label: texts.allSpidersOfProject },
            ...spiders.map((name) => ({ value: name, label: texts.spiderNamed(name) }))
          ]}
          value={spider ?? ''}
          onChange={(next) => choose(next || null)}
          disabled={form.isDirty}
          searchable={spiders.length > 8}
          allowDeselect={false}
        />
        <ArgumentsAndSettings
          fields={form}
          names={known}
          inherited={(kind) => <InheritedRows fields={form} kind={kind} inherited={inherited} />}
        />
        <ValueRows
          fields={form}
          name="env"
          kind="env"
          title={texts.environmentVariables}
          names={[]}
          hint={texts.environmentVariablesHint}
          inherited={<InheritedRows fields={form} kind="env" inherited={inherited} />}
        />
        <WhereFields fields={form} nodes={nodes} inherited={inherited} of="defaults" keptPriority={keptPriority} />
        <FormFoot
          form={form}
          submit={texts.saveDefaults}
          says={spider === null ? texts.projectDefaultsHint : texts.spiderDefaultsHint}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}
