import { Dialog } from '../../ui/dialog.tsx'
import { TextInput } from '@mantine/core'
import { useMemo } from 'react'
import type { AlertRuleSettings } from '../../../shared/contract/index.ts'
import {
  ALERT_WATCH_NAMES,
  ALERT_WATCHES,
  type AlertSubject,
  type AlertWatch,
  subjectOf,
  SCOPE_OF
} from '../../../shared/alert-watches.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { type AskedRule, closeAlertRuleEditor, useAlertRuleEditor } from '../../state/open-dialogs.ts'
import { useHasOperation } from '../../state/remote-engines.ts'
import { ChoiceField, optionsOf } from '../../ui/fields/choice-field.tsx'
import form from '../../ui/fields/form.module.css'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { Fold } from '../../ui/fold.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { notifyDone } from '../../ui/notify.tsx'
import { MultiSelect, Select } from '../../ui/fields/select.tsx'
import { SEVERITIES } from '../../ui/severity.tsx'
import { placeOf } from './alert-detail.tsx'
import { COMPARISONS, conditionWords, SUBJECT_TITLES, UNIT_WORDS } from './alert-words.ts'
import classes from './alerts.module.css'
import { nameOf, ruleForm, type RuleTexts, startRule, usualOf } from './rule-form.ts'
import { RulePreview } from './rule-preview.tsx'
import { ScopeFields } from './scope-fields.tsx'
import { useChannelNames, useNames } from './use-names.ts'

const GROUPINGS: Record<AlertRuleSettings['groupBy'], string> = {
  rule: 'All of the rule',
  project: 'Those of a project',
  node: 'Those of a node',
  each: 'Each on its own'
}

/** Mounted by the frame: it opens from a job, a node and a spider too. */
export function RuleDialog() {
  const asked = useAlertRuleEditor((state) => state.asked)
  return asked === null ? null : <Editor asked={asked} />
}

const WATCHES = (Object.keys(SUBJECT_TITLES) as AlertSubject[]).map((subject) => ({
  group: SUBJECT_TITLES[subject],
  items: ALERT_WATCH_NAMES.filter((watch) => subjectOf(watch) === subject).map((watch) => ({
    value: watch as string,
    label: ALERT_WATCHES[watch].label as string
  }))
}))

function Editor({ asked }: { asked: AskedRule }) {
  const { client } = useApi()
  const has = useHasOperation()
  const names = useNames()
  const channels = useChannelNames()
  const rule = 'rule' in asked ? asked.rule : null
  const schema = useMemo(() => ruleForm(names), [names])
  const fields = useFormOf<RuleTexts, Omit<AlertRuleSettings, 'enabled'>>({
    schema,
    start: () => startRule('rule' in asked ? asked.rule : asked.prefill),
    save: async (settings) => {
      if (rule === null) await client.alertRules.create(settings)
      else {
        const { id, revision, enabled } = rule
        await client.alertRules.update({ ...settings, id, revision, enabled })
      }
      closeAlertRuleEditor()
      if (rule === null) notifyDone(`Alert rule added: ${settings.name}`)
    }
  })
  const { watch, project, escalateAfter, repeatSeconds, gatherSeconds, groupBy } = fields.values
  const { unit, compares } = ALERT_WATCHES[watch]
  const { may, why } = useMay('alerts.change', placeOf({ project: project || null }))
  const channelData = (chosen: readonly string[]) => {
    const known = (channels ?? [])
      .filter(
        ({ id, projects = [] }) =>
          projects.length === 0 || projects.some((one) => one === project) || chosen.includes(id)
      )
      .map(({ id, name }) => ({ value: id as string, label: name }))
    const lost = chosen.filter((id) => !known.some(({ value }) => value === id))
    return [...known, ...lost.map((id) => ({ value: id, label: channels === undefined ? '…' : 'removed channel' }))]
  }
  const chosen = fields.values.channels
  return (
    <Dialog
      opened
      onClose={closeAlertRuleEditor}
      title={rule === null ? 'New alert rule' : `Edit ${rule.name}`}
      size={640}
    >
      <SchemaForm form={fields} className={form.form}>
        <fieldset className={`${classes.part} box`}>
          <legend>Tell when</legend>
          <Select
            {...fields.input('watch')}
            aria-label="Tell when"
            data={WATCHES}
            searchable
            allowDeselect={false}
            maxDropdownHeight={320}
            onChange={(next) => next !== null && fields.change(usualOf(next as AlertWatch))}
          />
          <ScopeFields fields={fields as never} fits={SCOPE_OF[watch]} />
          <div className={form.pair}>
            {unit !== 'yes_no' && compares.length > 1 && (
              <Select
                {...fields.input('comparison')}
                label="If it is"
                data={compares.map((value) => ({ value, label: COMPARISONS[value] }))}
                allowDeselect={false}
              />
            )}
            {unit !== 'yes_no' && (
              <TextInput
                {...fields.input('threshold')}
                label={compares.length > 1 ? 'Threshold' : capital(COMPARISONS[fields.values.comparison])}
                rightSection={<span className="faint">{UNIT_WORDS[unit]}</span>}
                rightSectionWidth={56}
                inputMode="numeric"
              />
            )}
            <TextInput {...fields.input('forSeconds')} label="For at least" placeholder="at once" />
            <ChoiceField
              {...fields.input('severity')}
              label="Severity"
              data={[...SEVERITIES].reverse().map((value) => ({ value, label: value }))}
            />
          </div>
          {has('alertRules.preview') && <RulePreview rule={fields.output} why={why} />}
        </fieldset>
        <fieldset className={`${classes.part} box`}>
          <legend>Whom to tell</legend>
          <div className={form.pair}>
            <MultiSelect
              {...fields.input('channels')}
              label="Channels"
              placeholder={chosen.length === 0 ? 'none: only listed here' : undefined}
              data={channelData(chosen)}
              hidePickedOptions
              nothingFoundMessage="There is no other channel"
              searchable
            />
            <TextInput
              {...fields.input('owner')}
              label="Owner"
              placeholder="a person or a team"
              title="Who looks after it: named in the message"
              maxLength={200}
            />
          </div>
          <Fold
            title="Grouping, repeats, escalation"
            summary={joinFacts(
              GROUPINGS[groupBy].toLowerCase(),
              repeatSeconds.trim() === '' ? 'sent once' : `again every ${repeatSeconds}`,
              escalateAfter.trim() !== '' && `escalates after ${escalateAfter}`
            )}
            isWrong={fields.hasError('groupBy', 'gatherSeconds', 'repeatSeconds', 'escalateAfter', 'escalateTo')}
          >
            <div className={form.pair}>
              <Select
                {...fields.input('groupBy')}
                label="In one message"
                description="Alerts that share a message."
                data={optionsOf(GROUPINGS)}
                allowDeselect={false}
              />
              <TextInput
                {...fields.input('gatherSeconds')}
                label="Gather for"
                description="How long a message waits for others."
                placeholder="not at all"
                disabled={groupBy === 'each' && gatherSeconds === ''}
              />
              <TextInput
                {...fields.input('repeatSeconds')}
                label="Repeat every"
                description="While it fires and is not acknowledged."
                placeholder="never: sent once"
              />
              <TextInput
                {...fields.input('escalateAfter')}
                label="Escalate after"
                description="Of firing without being acknowledged."
                placeholder="never"
              />
              {(escalateAfter.trim() !== '' || fields.values.escalateTo.length > 0) && (
                <MultiSelect
                  {...fields.input('escalateTo')}
                  label="Then tell these too"
                  data={channelData(fields.values.escalateTo)}
                  hidePickedOptions
                  searchable
                />
              )}
            </div>
          </Fold>
        </fieldset>
        <TextInput
          {...fields.input('name')}
          label="Name"
          placeholder={nameOf(conditionOf(fields.values), names)}
          maxLength={200}
        />
        <FormFoot
          form={fields}
          submit={rule === null ? 'Add rule' : 'Save rule'}
          isDisabled={!may}
          says={why ?? (fields.output === null ? undefined : `Tells when ${conditionWords(fields.output, names)}.`)}
          onCancel={closeAlertRuleEditor}
        />
      </SchemaForm>
    </Dialog>
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** What the texts say so far, for the suggested name. */
function conditionOf(texts: RuleTexts): Parameters<typeof conditionWords>[0] {
  const fits = SCOPE_OF[texts.watch]
  const named = (field: keyof typeof texts & (typeof fits)[number]) =>
    fits.includes(field) && texts[field] !== '' ? texts[field] : null
  return {
    ...{ watch: texts.watch, comparison: texts.comparison, threshold: Number(texts.threshold) || 0, forSeconds: 0 },
    ...{ project: named('project'), spider: named('spider'), scheduleId: named('scheduleId') },
    ...{ nodeId: named('nodeId'), nodeTag: named('nodeTag') }
  } as Parameters<typeof conditionWords>[0]
}
