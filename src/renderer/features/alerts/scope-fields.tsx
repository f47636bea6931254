import { Autocomplete } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ScopeField } from '../../../shared/alert-watches.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import form from '../../ui/fields/form.module.css'
import { Select } from '../../ui/fields/select.tsx'
import type { Fields } from '../../ui/fields/form-of-schema.ts'
import type { ScopeTexts } from './rule-form.ts'
import { useSchedules } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

interface ScopeFieldsProps {
  fields: Fields<ScopeTexts>
  fits: readonly ScopeField[]
  isFocused?: boolean
}

/** An empty field means any. */
export function ScopeFields({ fields, fits, isFocused = false }: ScopeFieldsProps) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const schedules = useSchedules()
  const { project: name, scheduleId, nodeId, nodeTag } = fields.values
  const project = projects.find((each) => each.name === name)
  const spiders = project === undefined ? [] : (versionOf(project)?.spiders ?? [])
  const common = { clearable: true, searchable: true } as const
  if (fits.length === 0) return null
  return (
    <div className={form.pair}>
      {fits.includes('project') && (
        <Select
          {...fields.input('project')}
          {...common}
          data-autofocus={isFocused || undefined}
          openOnFocus={!isFocused}
          label={texts.project}
          placeholder={texts.any}
          data={known(
            projects.map((each) => ({ value: each.name, label: each.name })),
            name
          )}
        />
      )}
      {fits.includes('spider') && (
        <Autocomplete
          {...fields.input('spider')}
          value={fields.values.spider ?? ''}
          label={texts.spider}
          placeholder={texts.any}
          data={spiders}
          clearable
        />
      )}
      {fits.includes('scheduleId') && (
        <Select
          {...fields.input('scheduleId')}
          {...common}
          label={texts.schedule}
          placeholder={texts.any}
          data={known(
            schedules.map((each) => ({ value: each.id as string, label: each.name })),
            scheduleId
          )}
        />
      )}
      {fits.includes('nodeId') && (
        <Select
          {...fields.input('nodeId')}
          {...common}
          label={texts.node}
          placeholder={texts.any}
          data={known(
            nodes.map((each) => ({ value: each.id as string, label: each.name })),
            nodeId
          )}
        />
      )}
      {fits.includes('nodeTag') && (
        <Select
          {...fields.input('nodeTag')}
          {...common}
          label={texts.nodeTag}
          placeholder={texts.any}
          data={known(
            [...new Set(nodes.flatMap(({ tags }) => tags))].toSorted().map((tag) => ({ value: tag, label: tag })),
            nodeTag
          )}
        />
      )}
    </div>
  )
}

/** Adds the chosen value to the options if it is not among them, for example because its spider was removed. */
const known = (options: { value: string; label: string }[], chosen: string | null) =>
  chosen === null || options.some(({ value }) => value === chosen)
    ? options
    : [...options, { value: chosen, label: chosen }]
