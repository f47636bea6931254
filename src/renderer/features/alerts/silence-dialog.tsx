import { Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ScopeField } from '../../../shared/alert-watches.ts'
import { describeWindows } from '../../../shared/calendar/index.ts'
import type { Alert, AlertSilence } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { Dialog, DialogText } from '../../ui/dialog.tsx'
import { ChoiceField, optionsOf } from '../../ui/fields/choice-field.tsx'
import form from '../../ui/fields/form.module.css'
import { type Fields, useFormOf } from '../../ui/fields/form-of-schema.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'
import { formatInstant } from '../../ui/time.tsx'
import { Select, ZoneSelect } from '../../ui/fields/select.tsx'
import { localZone } from '../../ui/moment.ts'
import { placeOf } from './alert-detail.tsx'
import { dayName, scopeWords, WEEK } from './alert-words.ts'
import { ScopeFields } from './scope-fields.tsx'
import {
  REPEATS,
  scopeOfAlert,
  type Silence,
  SilenceForm,
  type SilenceTexts,
  startTimes,
  timesOf,
  UNTIL
} from './silence-form.ts'
import { useNames } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

interface SilenceDialogProps {
  /** Those that it is for; none: a silence of anything. */
  alerts: readonly Alert[]
  /** It begins as one that repeats. */
  isMaintenance?: boolean
  onClose: () => void
}

const ALL_FIELDS: readonly ScopeField[] = ['project', 'spider', 'nodeId', 'nodeTag']

/** Withholds messages about some alerts for a time; they are still listed. */
export function SilenceDialog({ alerts, isMaintenance = false, onClose }: SilenceDialogProps) {
  const { client, query } = useApi()
  const names = useNames()
  const rules = useQuery(query.alertRules.list.queryOptions()).data?.rules ?? []
  const [only] = alerts
  const isOfMany = alerts.length > 1
  const scopes = distinct(alerts)
  const asked = useFormOf<SilenceTexts, Silence>({
    schema: SilenceForm,
    start: () => ({
      ...(only === undefined ? NOTHING : scopeOfAlert(only)),
      // Only the rule identifies an alert without spider and node.
      ruleId: only !== undefined && scopeWords(scopeOfAlert(only), names) === null ? only.ruleId : null,
      ...startTimes(localZone()),
      ...{ repeat: isMaintenance ? 'week' : 'once', comment: '' }
    }),
    save: async (silence) => {
      const times = timesOf(silence, Date.now())
      // Its last moment has passed since it was checked.
      if ('field' in times) throw new Error(times.message)
      const made: AlertSilence[] = []
      for (const scope of isOfMany ? scopes : [silence]) {
        const { project, spider, scheduleId, nodeId, nodeTag } = scope
        const { ruleId } = { ...silence, ...scope }
        const asked = { project, spider, scheduleId, nodeId, nodeTag, ruleId, comment: silence.comment, ...times }
        made.push((await client.alertSilences.create(asked)).silence)
      }
      onClose()
      const undo = async () => {
        for (const { id } of made) await client.alertSilences.remove({ id })
      }
      const what = isOfMany ? plural(alerts.length, 'alert') : (scopeWords(silence, names) ?? texts.alertsOfTheRule)
      notifyUndo(texts.silenced(what, whenWords(made[0]!)), undo)
    }
  })
  const { repeat, project, ruleId } = asked.values
  const { may, why } = useMay('alerts.answer', isOfMany ? 'somewhere' : placeOf({ project: project || null }))
  const isOfEverything =
    !isOfMany && asked.output !== null && scopeWords(asked.output, names) === null && ruleId === null
  const fits =
    only === undefined ? ALL_FIELDS : only.labels.project === null ? ALL_FIELDS.slice(2) : ALL_FIELDS.slice(0, 2)
  return (
    <Dialog opened onClose={onClose} title={isMaintenance ? texts.addMaintenanceWindow : titleOf(alerts)} size={520}>
      <SchemaForm form={asked} className={form.form}>
        {isOfMany ? (
          <DialogText>
            No messages are sent about any alert of{' '}
            {scopes
              .map((scope) => scopeWords(scope, names) ?? texts.theRule(ruleNameOf(scope.ruleId, rules)))
              .join('; ')}
            .
          </DialogText>
        ) : (
          <>
            <ScopeFields fields={asked} fits={fits} isFocused={only === undefined} />
            <Select
              {...asked.input('ruleId')}
              label={texts.rule}
              placeholder="any"
              clearable
              searchable
              data={rules.map(({ id, name }) => ({ value: id as string, label: name }))}
            />
          </>
        )}
        <ChoiceField {...asked.input('repeat')} label={texts.repeat} data={optionsOf(REPEATS)} fullWidth />
        {repeat === 'once' ? <OnceFields fields={asked} /> : <WindowFields fields={asked} />}
        <Textarea
          {...asked.input('comment')}
          label={texts.comment}
          placeholder={texts.whyForOthersMaintenanceAKnown}
          maxLength={500}
          autosize
          minRows={2}
        />
        <FormFoot
          form={asked}
          submit={repeat === 'once' ? texts.silence2 : texts.addMaintenanceWindow}
          isDisabled={!may}
          says={why ?? (isOfEverything ? texts.withoutAnyChoiceAllAlertsAre : texts.theyStayInTheListThe)}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

function OnceFields({ fields }: { fields: Fields<SilenceTexts> }) {
  return (
    <>
      <ChoiceField {...fields.input('until')} label={texts.forIt3} data={optionsOf(UNTIL)} fullWidth />
      {fields.values.until === 'at' && (
        <div className={form.pair}>
          <TextInput
            {...fields.input('start')}
            type="datetime-local"
            label={texts.from}
            description={texts.emptyFromNowOn}
          />
          <TextInput
            {...fields.input('at')}
            type="datetime-local"
            label={texts.until}
            description={texts.inYourTimeZone}
            autoFocus
          />
        </div>
      )}
    </>
  )
}

/** A maintenance window: of each day, or of one day of each week. */
function WindowFields({ fields }: { fields: Fields<SilenceTexts> }) {
  const { repeat, from, to } = fields.values
  const isOvernight = from !== '' && to !== '' && to <= from
  return (
    <>
      {repeat === 'week' && (
        <Select
          {...fields.input('weekday')}
          label={texts.on2}
          data={WEEK.map((day) => ({ value: String(day), label: dayName(day) }))}
          allowDeselect={false}
        />
      )}
      <div className={form.pair}>
        <TextInput {...fields.input('from')} type="time" label={texts.from} />
        <TextInput {...fields.input('to')} type="time" label={isOvernight ? texts.untilOnTheNextDay : texts.until} />
      </div>
      <div className={form.pair}>
        <ZoneSelect {...fields.input('zone')} label={texts.timeZone} />
        <TextInput {...fields.input('lastDay')} type="date" label={texts.lastDayIfAny} />
      </div>
    </>
  )
}

/** `until 2026-11-28 15:00`, `every Sunday 02:00–04:00 (Europe/Berlin)` */
function whenWords(silence: AlertSilence): string {
  const from = silence.fromMs > Date.now() ? texts.from2(formatInstant(silence.fromMs)) : ''
  return describeWindows(silence) ?? texts.until2(from, formatInstant(silence.untilMs))
}

const NOTHING = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

const titleOf = ([only, ...others]: readonly Alert[]): string =>
  only === undefined
    ? texts.addSilence
    : others.length === 0
      ? texts.silence3(only.subject)
      : texts.silenceAlert(others.length + 1)

const ruleNameOf = (id: string | null, rules: readonly { id: string; name: string }[]): string =>
  rules.find((rule) => rule.id === id)?.name ?? ''

/** Of several alerts of one spider or node, one silence is enough. */
function distinct(alerts: readonly Alert[]) {
  const scopes = alerts.map((alert) => {
    const scope = scopeOfAlert(alert)
    const isNarrow = Object.values(scope).some((value) => value !== null)
    return { ...scope, ruleId: isNarrow ? null : alert.ruleId }
  })
  return [...new Map(scopes.map((scope) => [JSON.stringify(scope), scope])).values()]
}
