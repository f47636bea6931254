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
import { texts as calendar } from '../../../shared/texts/ui/calendar.ts'

interface SilenceDialogProps {
  /** The alerts to silence. Empty: the user chooses what to silence. */
  alerts: readonly Alert[]
  isMaintenance?: boolean
  onClose: () => void
}

const ALL_FIELDS: readonly ScopeField[] = ['project', 'spider', 'nodeId', 'nodeTag']

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
      // An alert without a scope can be identified only by its rule.
      ruleId: only !== undefined && scopeWords(scopeOfAlert(only), names) === null ? only.ruleId : null,
      ...startTimes(localZone()),
      repeat: isMaintenance ? 'week' : 'once',
      comment: ''
    }),
    save: async (silence) => {
      const times = timesOf(silence, Date.now())
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
      const what = isOfMany ? texts.alertCount(alerts.length) : (scopeWords(silence, names) ?? texts.alertsOfTheRule)
      notifyUndo(texts.silencedUntil(what, whenWords(made[0]!)), undo)
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
      <SchemaForm form={asked}>
        {isOfMany ? (
          <DialogText>
            {texts.silencesMany(
              scopes
                .map((scope) => scopeWords(scope, names) ?? texts.ruleScope(ruleNameOf(scope.ruleId, rules)))
                .join('; ')
            )}
          </DialogText>
        ) : (
          <>
            <ScopeFields fields={asked} fits={fits} isFocused={only === undefined} />
            <Select
              {...asked.input('ruleId')}
              label={texts.rule}
              placeholder={texts.any}
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
          placeholder={texts.commentExample}
          maxLength={500}
          autosize
          minRows={2}
        />
        <FormFoot
          form={asked}
          submit={repeat === 'once' ? texts.silenceNow : texts.addMaintenanceWindow}
          isDisabled={!may}
          says={why ?? (isOfEverything ? texts.silencesEverything : texts.silenceDialogHint)}
          onCancel={onClose}
        />
      </SchemaForm>
    </Dialog>
  )
}

function OnceFields({ fields }: { fields: Fields<SilenceTexts> }) {
  return (
    <>
      <ChoiceField {...fields.input('until')} label={texts.silenceFor} data={optionsOf(UNTIL)} fullWidth />
      {fields.values.until === 'at' && (
        <div className={form.pair}>
          <TextInput
            {...fields.input('start')}
            type="datetime-local"
            label={texts.from}
            description={texts.startHint}
          />
          <TextInput
            {...fields.input('at')}
            type="datetime-local"
            label={texts.until}
            description={texts.yourTimeZone}
            autoFocus
          />
        </div>
      )}
    </>
  )
}

function WindowFields({ fields }: { fields: Fields<SilenceTexts> }) {
  const { repeat, from, to } = fields.values
  const isOvernight = from !== '' && to !== '' && to <= from
  return (
    <>
      {repeat === 'week' && (
        <Select
          {...fields.input('weekday')}
          label={texts.onDay}
          data={WEEK.map((day) => ({ value: String(day), label: dayName(day) }))}
          allowDeselect={false}
        />
      )}
      <div className={form.pair}>
        <TextInput {...fields.input('from')} type="time" label={texts.from} />
        <TextInput {...fields.input('to')} type="time" label={isOvernight ? texts.untilNextDay : texts.until} />
      </div>
      <div className={form.pair}>
        <ZoneSelect {...fields.input('zone')} label={texts.timeZone} />
        <TextInput {...fields.input('lastDay')} type="date" label={texts.lastDayOfWindow} />
      </div>
    </>
  )
}

/** `until 2026-11-28 15:00`, `every Sunday 02:00–04:00 (Europe/Berlin)` */
function whenWords(silence: AlertSilence): string {
  const until = formatInstant(silence.untilMs)
  const windows = describeWindows(silence, calendar)
  if (windows !== null) return windows
  return silence.fromMs > Date.now() ? texts.fromUntil(formatInstant(silence.fromMs), until) : texts.untilTime(until)
}

const NOTHING = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

const titleOf = ([only, ...others]: readonly Alert[]): string =>
  only === undefined
    ? texts.addSilence
    : others.length === 0
      ? texts.silenceAlert(only.subject)
      : texts.silenceAlerts(others.length + 1)

const ruleNameOf = (id: string | null, rules: readonly { id: string; name: string }[]): string =>
  rules.find((rule) => rule.id === id)?.name ?? ''

/** Several alerts about one spider or node need only one silence. */
function distinct(alerts: readonly Alert[]) {
  const scopes = alerts.map((alert) => {
    const scope = scopeOfAlert(alert)
    const isNarrow = Object.values(scope).some((value) => value !== null)
    return { ...scope, ruleId: isNarrow ? null : alert.ruleId }
  })
  return [...new Map(scopes.map((scope) => [JSON.stringify(scope), scope])).values()]
}
