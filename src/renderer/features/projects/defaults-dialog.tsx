import { Modal, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type JobDefaults, NO_DEFAULTS, type Project } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import fields from '../../ui/fields/form.module.css'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { useKnownNames } from '../../ui/fields/job-target.tsx'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { ValueRows } from '../../ui/fields/value-rows.tsx'
import { WhereFields } from '../../ui/fields/where-fields.tsx'
import { DefaultsForm, type DefaultsTexts, startDefaults, withDefaultsOf } from './defaults-form.ts'

/** Edits the defaults of the project or of one of its spiders. */
export function DefaultsDialog({ project, onClose }: { project: Project; onClose: () => void }) {
  const [spider, setSpider] = useState<string | null>(null)
  const { spiderDefaults } = project.settings
  const spiders = [...new Set([...(versionOf(project)?.spiders ?? []), ...Object.keys(spiderDefaults)])].sort()
  return (
    <Modal opened onClose={onClose} title={`Defaults of ${project.name}`} size={640}>
      <div className={fields.form}>
        <Select
          label="For"
          data={[
            { value: '', label: 'All spiders of the project' },
            ...spiders.map((name) => ({ value: name, label: `Spider ${name}` }))
          ]}
          value={spider ?? ''}
          onChange={(next) => setSpider(next || null)}
          searchable={spiders.length > 8}
          allowDeselect={false}
        />
        <DefaultsFields key={spider} project={project} spider={spider} onClose={onClose} />
      </div>
    </Modal>
  )
}

interface DefaultsFieldsProps {
  project: Project
  /** null: all spiders. */
  spider: string | null
  onClose: () => void
}

function DefaultsFields({ project, spider, onClose }: DefaultsFieldsProps) {
  const { client, query } = useApi()
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const { defaults, spiderDefaults } = project.settings
  const before = spider === null ? defaults : (spiderDefaults[spider] ?? NO_DEFAULTS)
  const form = useFormOf<DefaultsTexts, JobDefaults>({
    schema: DefaultsForm,
    start: () => startDefaults(before),
    save: async (next) => {
      const { pinnedVersion: _unchanged, ...settings } = withDefaultsOf(project.settings, spider, next)
      await client.projects.configure({ project: project.name, settings })
      onClose()
    }
  })
  const known = useKnownNames({ project: project.name, spiders: spider === null ? [] : [spider] })
  return (
    <SchemaForm form={form} className={fields.form}>
      <ValueRows fields={form} name="args" kind="args" title="Arguments" names={known.args} />
      <ValueRows fields={form} name="settings" kind="settings" title="Settings" names={known.settings} />
      <ValueRows
        fields={form}
        name="env"
        kind="env"
        title="Environment variables"
        names={[]}
        hint="For runs on the local node. Remote Scrapyd nodes cannot set them."
      />
      <WhereFields fields={form} nodes={nodes} inherited={spider === null ? null : defaults} />
      <FormFoot
        form={form}
        submit="Save defaults"
        says={
          spider === null
            ? 'For new jobs. A spider’s defaults and the job’s own values win.'
            : 'For new jobs, over those of the project. A job’s own values win.'
        }
        onCancel={onClose}
      />
    </SchemaForm>
  )
}
