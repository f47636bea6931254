import { ActionIcon, Button, Group, Stack, Textarea } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../../api/api.tsx'
import form from '../../../ui/fields/form.module.css'
import type { Fields } from '../../../ui/fields/form-of-schema.ts'
import { JobTarget, useKnownNames } from '../../../ui/fields/job-target.tsx'
import { describeRunLimits, RunLimitsForm } from '../../../ui/fields/run-limits.ts'
import { RunLimitsFields } from '../../../ui/fields/run-limits-fields.tsx'
import { describeRetry, RetryForm } from '../../../ui/fields/retry.ts'
import { RetryFields } from '../../../ui/fields/retry-fields.tsx'
import { ValueRows } from '../../../ui/fields/value-rows.tsx'
import { InheritedRows } from '../../../ui/fields/inherited-rows.tsx'
import { inheritedBy } from '../../../ui/fields/inherited.ts'
import { WhereFields } from '../../../ui/fields/where-fields.tsx'
import { Fold } from '../../../ui/fold.tsx'
import { joinFacts } from '../../../ui/numbers.ts'
import { jobsOfTemplate } from '../schedule-words.ts'
import classes from './editor.module.css'
import { newTemplate, type ScheduleTexts, templateForm, type TemplateTexts } from './schedule-form.ts'
import { CODE_INPUT } from '../../../ui/fields/code-input.ts'
import { texts } from '../../../../shared/texts/ui/schedules.ts'

const TEMPLATES_MAX = 50

export function TemplateList({ fields }: { fields: Fields<ScheduleTexts> }) {
  const { jobs } = fields.values
  return (
    <Stack gap={12} className={classes.rules}>
      {jobs.map((template, index) => (
        <section key={template.key} className={classes.rule} aria-label={texts.jobsNumber(index + 1)}>
          {jobs.length > 1 && (
            <Group gap={8} justify="space-between" wrap="nowrap">
              <span className="dim">{template.project ?? texts.jobsNumber(index + 1)}</span>
              <ActionIcon
                aria-label={texts.removeJobs(index + 1)}
                onClick={() => fields.change({ jobs: jobs.filter(({ key }) => key !== template.key) })}
              >
                <IconX size={14} />
              </ActionIcon>
            </Group>
          )}
          <TemplateFields fields={fields.within('jobs').within(index)} />
        </section>
      ))}
      {jobs.length < TEMPLATES_MAX && (
        <Button
          variant="subtle"
          color="gray"
          className={classes.add}
          leftSection={<IconPlus size={14} />}
          onClick={() => fields.change({ jobs: [...jobs, newTemplate()] })}
        >
          {texts.addJobs}
        </Button>
      )}
    </Stack>
  )
}

interface TemplateFieldsProps {
  fields: Fields<TemplateTexts>
  /** In a chain, values can also come from the previous job. */
  place?: 'schedule' | 'chain'
}

/** One job for each spider, set of arguments and combination of the matrix. */
export function TemplateFields({ fields, place = 'schedule' }: TemplateFieldsProps) {
  const { query } = useApi()
  const projects = useQuery(query.projects.list.queryOptions()).data?.projects ?? []
  const nodes = useQuery(query.nodes.list.queryOptions()).data?.nodes ?? []
  const { values } = fields
  const known = useKnownNames(values)
  const ofProject = projects.find(({ name }) => name === values.project)?.settings
  const inherited = inheritedBy(ofProject ?? null, values.spiders)
  const template = templateForm(place).safeParse(values)
  const jobs = template.success ? jobsOfTemplate(template.data) : 0
  const limits = RunLimitsForm.safeParse(values.limits)
  const retry = RetryForm.safeParse(values.retry)
  return (
    <Stack gap={12} miw={0}>
      <JobTarget fields={fields} projects={projects} />
      <ValueRows
        fields={fields}
        name="args"
        kind="args"
        title={texts.arguments}
        names={known.args}
        inherited={<InheritedRows fields={fields} kind="args" inherited={inherited} />}
        hint={
          values.args.length === 0
            ? undefined
            : place === 'chain'
              ? texts.chainPlaceholders(
                  <code>{'{stats.item_scraped_count}'}</code>,
                  <code>{'{job}'}</code>,
                  <code>{'{outcome}'}</code>
                )
              : texts.schedulePlaceholders(
                  <code>{'{nominal}'}</code>,
                  <code>{'{nominal:yyyy-MM-dd}'}</code>,
                  <code>{'{previous}'}</code>
                )
        }
      />
      <Fold
        title={texts.severalJobs}
        summary={jobs > values.spiders.length ? texts.jobsPerRun(jobs) : texts.severalJobsSummary}
        isWrong={fields.hasError('argSets', 'matrix')}
      >
        <Textarea
          {...fields.input('argSets')}
          label={texts.argumentSets}
          description={texts.argumentSetsHint}
          placeholder={texts.argumentSetsExample}
          autosize
          minRows={2}
          maxRows={12}
          {...CODE_INPUT}
        />
        <ValueRows
          fields={fields}
          name="matrix"
          kind="args"
          title={texts.matrix}
          hint={texts.matrixHint}
          names={known.args}
        />
      </Fold>
      <WhereFields fields={fields} nodes={nodes} inherited={inherited} of="template" />
      <Fold
        title={texts.settingsLimitsRetry}
        isWrong={fields.hasError('settings', 'limits', 'retry')}
        summary={
          joinFacts(
            values.settings.length > 0 && texts.settingCount(values.settings.length),
            limits.success && describeRunLimits(limits.data),
            retry.success && describeRetry(retry.data)
          ) || texts.projectSettings
        }
      >
        <ValueRows
          fields={fields}
          name="settings"
          kind="settings"
          title={texts.settings}
          names={known.settings}
          inherited={<InheritedRows fields={fields} kind="settings" inherited={inherited} />}
        />
        <fieldset>
          <legend className={form.label}>{texts.limits}</legend>
          <RunLimitsFields fields={fields.within('limits')} inherited={ofProject?.limits ?? null} />
        </fieldset>
        <fieldset>
          <legend className={form.label}>{texts.retry}</legend>
          <RetryFields fields={fields.within('retry')} inherited={ofProject?.retry ?? null} />
        </fieldset>
      </Fold>
    </Stack>
  )
}
