import { ActionIcon, Button, MultiSelect, Select, Textarea } from '@mantine/core'
import { IconChevronRight, IconPlus, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useApi } from '../../../api/api.tsx'
import { describeLimits, readLimits } from '../../../ui/fields/limits.ts'
import { LimitsFields } from '../../../ui/fields/limits-fields.tsx'
import { plural } from '../../../ui/numbers.ts'
import { describeRetry, readRetry } from '../../../ui/fields/retry.ts'
import { RetryFields } from '../../../ui/fields/retry-fields.tsx'
import { ValueRows } from '../../../ui/fields/value-rows.tsx'
import { WhereFields } from '../../../ui/fields/where-fields.tsx'
import { jobsOfTemplate } from '../schedule-words.ts'
import classes from './editor.module.css'
import { newTemplateForm, readArgSets, readTemplate, type TemplateForm } from './schedule-form.ts'

const TEMPLATES_MAX = 50

interface TemplateListProps {
  templates: readonly TemplateForm[]
  onChange: (templates: readonly TemplateForm[]) => void
}

/** What is run each time: of one project or several. */
export function TemplateList({ templates, onChange }: TemplateListProps) {
  return (
    <div className={classes.rules}>
      {templates.map((template, index) => (
        <section key={template.key} className={classes.rule} aria-label={`Jobs ${index + 1}`}>
          {templates.length > 1 && (
            <div className={classes.ruleHead}>
              <span className="dim">{template.project ?? `Jobs ${index + 1}`}</span>
              <ActionIcon
                aria-label={`Remove jobs ${index + 1}`}
                onClick={() => onChange(templates.filter(({ key }) => key !== template.key))}
              >
                <IconX size={14} />
              </ActionIcon>
            </div>
          )}
          <TemplateFields
            form={template}
            onChange={(patch) =>
              onChange(templates.map((each) => (each.key === template.key ? { ...each, ...patch } : each)))
            }
          />
        </section>
      ))}
      {templates.length < TEMPLATES_MAX && (
        <Button
          variant="subtle"
          color="gray"
          className={classes.add}
          leftSection={<IconPlus size={14} />}
          onClick={() => onChange([...templates, newTemplateForm()])}
        >
          Add jobs of another project, or with other settings
        </Button>
      )}
    </div>
  )
}

/** One job for each spider, set of arguments and combination of the matrix. */
export function TemplateFields({
  form,
  place = 'schedule',
  onChange
}: {
  form: TemplateForm
  /** In a chain values may also hold what the job before left. */
  place?: 'schedule' | 'chain'
  onChange: (patch: Partial<TemplateForm>) => void
}) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const recent = useQuery({
    ...query.jobs.list.queryOptions({ input: { project: form.project ?? undefined, limit: 50 } }),
    enabled: form.project !== null,
    staleTime: 60_000
  }).data?.jobs
  const namesOf = (kind: 'args' | 'settings') =>
    [...new Set(recent?.flatMap((job) => Object.keys(job[kind])) ?? [])].sort()
  const project = projects.find(({ name }) => name === form.project)
  const version = project?.versions.find((each) => each.version === (form.version ?? project.latestVersion))
  const known = version?.spiders ?? null
  const strangers = known === null ? [] : form.spiders.filter((spider) => !known.includes(spider))
  const read = readTemplate(form, place)
  const jobs = 'problem' in read ? null : jobsOfTemplate(read)
  const limits = readLimits(form.limits)
  const retry = readRetry(form.retry)
  return (
    <div className={classes.template}>
      <div className={classes.pair}>
        <Select
          label="Project"
          data={[...new Set([...projects.map(({ name }) => name), ...(form.project === null ? [] : [form.project])])]}
          value={form.project}
          onChange={(name) => onChange({ project: name, version: null, spiders: [] })}
          searchable
          allowDeselect={false}
          placeholder="Choose a project"
          error={form.project !== null && projects.length > 0 && project === undefined ? 'is not deployed here' : null}
        />
        <Select
          label="Version"
          data={[
            { value: '', label: project?.latestVersion ? `latest (now ${project.latestVersion})` : 'latest' },
            ...(project?.versions.map((each) => ({ value: each.version, label: each.version })) ?? [])
          ]}
          value={form.version ?? ''}
          onChange={(value) => onChange({ version: value || null })}
          allowDeselect={false}
          disabled={form.project === null}
        />
      </div>
      <MultiSelect
        label="Spiders"
        data={[...new Set([...(known ?? []), ...form.spiders])].sort()}
        value={[...form.spiders]}
        onChange={(spiders) => onChange({ spiders })}
        searchable
        clearable
        limit={200}
        hidePickedOptions
        disabled={form.project === null}
        placeholder={form.spiders.length === 0 ? 'Choose one or several' : undefined}
        nothingFoundMessage={
          known === null ? 'The spiders of this version are not listed yet' : 'No spider has this name'
        }
        error={
          strangers.length > 0
            ? `${strangers.join(', ')} ${strangers.length === 1 ? 'is' : 'are'} not in this version`
            : undefined
        }
      />
      <ValueRows
        kind="args"
        title="Arguments"
        rows={form.args}
        names={namesOf('args')}
        onChange={(args) => onChange({ args })}
        hint={
          form.args.length === 0 ? undefined : place === 'chain' ? (
            <>
              From the job before: <code>{'{stats.item_scraped_count}'}</code> or any other of its stats,{' '}
              <code>{'{job}'}</code>, <code>{'{outcome}'}</code>
            </>
          ) : (
            <>
              The moment it stands for: <code>{'{nominal}'}</code>, <code>{'{nominal:yyyy-MM-dd}'}</code>,{' '}
              <code>{'{previous}'}</code>
            </>
          )
        }
      />
      <Fold
        title="Several jobs"
        summary={
          jobs !== null && jobs > form.spiders.length ? `${plural(jobs, 'job')} each time` : 'argument sets, matrix'
        }
        isWrong={'problem' in readArgSets(form.argSets, place)}
      >
        <Textarea
          label="Sets of arguments"
          description="A line for each job, beside the arguments above"
          placeholder={'region=eu page=1\nregion=us page=1'}
          autosize
          minRows={2}
          maxRows={12}
          value={form.argSets}
          onChange={(event) => onChange({ argSets: event.currentTarget.value })}
          classNames={{ input: 'mono' }}
          error={problemOf(readArgSets(form.argSets, place))}
          spellCheck={false}
        />
        <ValueRows
          kind="args"
          title="Matrix: every combination of these values, with commas between"
          rows={form.matrix}
          names={namesOf('args')}
          onChange={(matrix) => onChange({ matrix })}
        />
      </Fold>
      <WhereFields form={form} nodes={nodes} onChange={onChange} />
      <Fold
        title="Settings, limits, retry"
        isWrong={'problem' in limits || 'problem' in retry}
        summary={
          [
            form.settings.length > 0 && plural(form.settings.length, 'setting'),
            'limits' in limits && describeLimits(limits.limits),
            'retry' in retry && describeRetry(retry.retry)
          ]
            .filter(Boolean)
            .join(' · ') || 'as the project says'
        }
      >
        <ValueRows
          kind="settings"
          title="Settings"
          rows={form.settings}
          names={namesOf('settings')}
          onChange={(settings) => onChange({ settings })}
        />
        <fieldset className={classes.group}>
          <legend className={classes.label}>Limits</legend>
          <LimitsFields
            texts={form.limits}
            inherited={project?.settings.limits ?? null}
            onChange={(texts) => onChange({ limits: texts })}
          />
        </fieldset>
        <fieldset className={classes.group}>
          <legend className={classes.label}>Retry</legend>
          <RetryFields
            texts={form.retry}
            inherited={project?.settings.retry ?? null}
            onChange={(texts) => onChange({ retry: texts })}
          />
        </fieldset>
      </Fold>
    </div>
  )
}

const problemOf = (read: object): string | null => ('problem' in read ? String(read.problem) : null)

/** Closed it says what it holds. */
function Fold({
  title,
  summary,
  isWrong = false,
  children
}: {
  title: string
  summary: string
  isWrong?: boolean
  children: ReactNode
}) {
  const [isOpen, setOpen] = useState(false)
  return (
    <section className={classes.more} aria-label={title}>
      <button type="button" className={classes.moreHead} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <IconChevronRight size={14} aria-hidden />
        <strong>{title}</strong> <span className={`ellipsis ${isWrong ? 'tone-bad' : 'dim'}`}>{summary}</span>
      </button>
      {isOpen && <div className={classes.fold}>{children}</div>}
    </section>
  )
}
