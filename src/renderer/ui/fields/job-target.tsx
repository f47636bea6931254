import { MultiSelect, Select } from './select.tsx'
import { type InputWrapperProps } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Job, Project } from '../../../shared/contract/index.ts'
import { versionOf } from '../../../shared/version-of.ts'
import { useApi } from '../../api/api.tsx'
import classes from './form.module.css'
import type { Fields } from './form-of-schema.ts'
import type { JobTexts } from './job-form.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

interface JobTargetProps {
  fields: Fields<Pick<JobTexts, 'project' | 'version' | 'spiders'>>
  projects: readonly Project[]
  takesFocus?: boolean
}

/** Shows an error above the input, because the open list would cover an error below it. */
const ERROR_FIRST: InputWrapperProps['inputWrapperOrder'] = ['label', 'error', 'input', 'description']

export function JobTarget({ fields, projects, takesFocus = false }: JobTargetProps) {
  const { project: name, version, spiders } = fields.values
  const project = projects.find((each) => each.name === name)
  const known = (project && versionOf(project, version)?.spiders) ?? null
  const strangers = known === null ? [] : spiders.filter((spider) => !known.includes(spider))
  return (
    <>
      <div className={`${classes.pair} ${classes.target}`}>
        <Select
          {...fields.input('project')}
          label={texts.project}
          data={[...new Set([...projects.map((each) => each.name), ...(name === null ? [] : [name])])]}
          onChange={(next) => fields.change({ project: next, version: null, spiders: [] })}
          inputWrapperOrder={ERROR_FIRST}
          searchable
          allowDeselect={false}
          placeholder={texts.chooseProject}
          error={
            name !== null && projects.length > 0 && project === undefined
              ? texts.projectNotDeployed
              : fields.error('project')
          }
          autoFocus={takesFocus && name === null}
          openOnFocus={false}
        />
        <Select
          {...fields.input('version')}
          label={texts.version}
          data={[
            { value: '', label: project === undefined ? texts.activeVersion : activeLabel(project) },
            ...(project?.versions.map((each) => ({ value: each.version, label: each.version })) ?? [])
          ]}
          value={version ?? ''}
          onChange={(next) => fields.change({ version: next || null })}
          allowDeselect={false}
          disabled={name === null}
        />
      </div>
      <MultiSelect
        {...fields.input('spiders')}
        label={texts.spiders}
        data={[...new Set([...(known ?? []), ...spiders])].sort()}
        searchable
        clearable
        limit={200}
        hidePickedOptions
        disabled={name === null}
        placeholder={spiders.length === 0 ? texts.chooseOneOrMore : undefined}
        nothingFoundMessage={known === null ? texts.spidersUnknown : texts.noMatchingSpider}
        description={
          known !== null && known.length > 1 && spiders.length < known.length ? (
            <button
              type="button"
              className={`${classes.all} text-link`}
              onClick={() => fields.change({ spiders: [...known] })}
            >
              {texts.chooseAll(known.length)}
            </button>
          ) : undefined
        }
        inputWrapperOrder={ERROR_FIRST}
        error={strangers.length > 0 ? texts.spidersNotInVersion(strangers) : fields.error('spiders')}
        autoFocus={takesFocus && name !== null && spiders.length === 0}
        openOnFocus={false}
      />
    </>
  )
}

/** What a job without a version runs: `active version (1.4.0, pinned)`. */
function activeLabel({ activeVersion, settings: { pinnedVersion } }: Project): string {
  const facts =
    pinnedVersion == null
      ? [activeVersion]
      : [pinnedVersion, activeVersion === null ? texts.versionPinnedMissing : texts.versionPinned]
  const known = facts.filter((fact) => fact !== null)
  return known.length === 0 ? texts.activeVersion : texts.activeVersionOf(known.join(', '))
}

/** Names of arguments and settings from earlier jobs of the project, or of the only selected spider. */
export function useKnownNames({ project, spiders }: Pick<JobTexts, 'project' | 'spiders'>) {
  const { query } = useApi()
  const filter = { project: project ?? undefined, spider: spiders.length === 1 ? spiders[0] : undefined, limit: 50 }
  const recent = useQuery({
    ...query.jobs.list.queryOptions({ input: filter }),
    enabled: project !== null,
    staleTime: 60_000
  })
  const names = (of: (job: Job) => Record<string, string>) =>
    [...new Set(recent.data?.jobs.flatMap((job) => Object.keys(of(job))) ?? [])].sort()
  return { args: names(({ args }) => args), settings: names(({ settings }) => settings) }
}
