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
import { SEVERITIES, SEVERITY_LOOK } from '../../ui/severity.tsx'
import { placeOf } from './alert-detail.tsx'
import { COMPARISONS, conditionWords, SUBJECT_TITLES, UNIT_WORDS } from './alert-words.ts'
import { nameOf, ruleForm, type RuleTexts, startRule, usualOf } from './rule-form.ts'
import { RulePreview } from './rule-preview.tsx'
import { ScopeFields } from './scope-fields.tsx'
import { useChannelNames, useNames } from './use-names.ts'
import { texts as words } from '../../../shared/texts/ui/alerts.ts'
import { texts as watches } from '../../../shared/texts/ui/watches.ts'

const GROUPINGS: Record<AlertRuleSettings['groupBy'], string> = {
  rule: words.groupByRule,
  project: words.groupByProject,
  node: words.groupByNode,
  each: words.groupEach
}

/** The frame mounts this, because the dialog also opens from a job, a node and a spider. */
export function RuleDialog() {
  const asked = useAlertRuleEditor((state) => state.asked)
  return asked === null ? null : <Editor asked={asked} />
}

const WATCHES = (Object.keys(SUBJECT_TITLES) as AlertSubject[]).map((subject) => ({
  group: SUBJECT_TITLES[subject],
  items: ALERT_WATCH_NAMES.filter((watch) => subjectOf(watch) === subject).map((watch) => ({
    value: watch as string,
    label: watches[`label.${watch}`]
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
      if (rule === null) notifyDone(words.ruleAdded(settings.name))
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
    return [...known, ...lost.map((id) => ({ value: id, label: channels === undefined ? '…' : words.removedChannel }))]
  }
  const chosen = fields.values.channels
  return (
    <Dialog
      opened
      onClose={closeAlertRuleEditor}
      title={rule === null ? words.newAlertRule : words.editNamed(rule.name)}
      size={640}
    >
      <SchemaForm form={fields}>
        <fieldset className={`${form.part} box`}>
          <legend>{words.notifyWhen}</legend>
          <Select
            {...fields.input('watch')}
            aria-label={words.notifyWhen}
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
                label={words.comparison}
                data={compares.map((value) => ({ value, label: COMPARISONS[value] }))}
                allowDeselect={false}
              />
            )}
            {unit !== 'yes_no' && (
              <TextInput
                {...fields.input('threshold')}
                label={compares.length > 1 ? words.threshold : capital(COMPARISONS[fields.values.comparison])}
                rightSection={<span className="faint">{UNIT_WORDS[unit]}</span>}
                rightSectionWidth={56}
                inputMode="numeric"
              />
            )}
            <TextInput {...fields.input('forSeconds')} label={words.forAtLeast} placeholder={words.immediately} />
            <ChoiceField
              {...fields.input('severity')}
              label={words.severity}
              data={[...SEVERITIES].reverse().map((value) => ({ value, label: SEVERITY_LOOK[value].word }))}
            />
          </div>
          {has('alertRules.preview') && <RulePreview rule={fields.output} why={why} />}
        </fieldset>
        <fieldset className={`${form.part} box`}>
          <legend>{words.notifications}</legend>
          <div className={form.pair}>
            <MultiSelect
              {...fields.input('channels')}
              label={words.channels}
              placeholder={chosen.length === 0 ? words.noChannelsChosen : undefined}
              data={channelData(chosen)}
              hidePickedOptions
              nothingFoundMessage={words.noOtherChannel}
              searchable
            />
            <TextInput
              {...fields.input('owner')}
              label={words.owner}
              placeholder={words.ownerExample}
              title={words.ownerHint}
              maxLength={200}
            />
          </div>
          <Fold
            title={words.groupingTitle}
            summary={joinFacts(
              GROUPINGS[groupBy].toLowerCase(),
              repeatSeconds.trim() === '' ? words.sentOnce : words.repeatsEvery(repeatSeconds),
              escalateAfter.trim() !== '' && words.escalatesAfter(escalateAfter)
            )}
            isWrong={fields.hasError('groupBy', 'gatherSeconds', 'repeatSeconds', 'escalateAfter', 'escalateTo')}
          >
            <div className={form.pair}>
              <Select
                {...fields.input('groupBy')}
                label={words.groupBy}
                description={words.groupByHint}
                data={optionsOf(GROUPINGS)}
                allowDeselect={false}
              />
              <TextInput
                {...fields.input('gatherSeconds')}
                label={words.groupWait}
                description={words.groupWaitHint}
                placeholder={words.noGroupWait}
                disabled={groupBy === 'each' && gatherSeconds === ''}
              />
              <TextInput
                {...fields.input('repeatSeconds')}
                label={words.repeatEvery}
                description={words.repeatHint}
                placeholder={words.repeatNever}
              />
              <TextInput
                {...fields.input('escalateAfter')}
                label={words.escalateAfter}
                description={words.escalateHint}
                placeholder={words.never}
              />
              {(escalateAfter.trim() !== '' || fields.values.escalateTo.length > 0) && (
                <MultiSelect
                  {...fields.input('escalateTo')}
                  label={words.escalateTo}
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
          label={words.name}
          placeholder={nameOf(conditionOf(fields.values), names)}
          maxLength={200}
        />
        <FormFoot
          form={fields}
          submit={rule === null ? words.addRule : words.saveRule}
          isDisabled={!may}
          says={why ?? (fields.output === null ? undefined : words.firesWhen(conditionWords(fields.output, names)))}
          onCancel={closeAlertRuleEditor}
        />
      </SchemaForm>
    </Dialog>
  )
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

function conditionOf(texts: RuleTexts): Parameters<typeof conditionWords>[0] {
  const fits = SCOPE_OF[texts.watch]
  const named = (field: keyof typeof texts & (typeof fits)[number]) =>
    fits.includes(field) && texts[field] !== '' ? texts[field] : null
  return {
    watch: texts.watch,
    comparison: texts.comparison,
    threshold: Number(texts.threshold) || 0,
    forSeconds: 0,
    project: named('project'),
    spider: named('spider'),
    scheduleId: named('scheduleId'),
    nodeId: named('nodeId'),
    nodeTag: named('nodeTag')
  } as Parameters<typeof conditionWords>[0]
}
