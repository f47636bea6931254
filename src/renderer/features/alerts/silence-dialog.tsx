import { Modal, Select, Textarea, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ScopeField } from '../../../shared/alert-watches.ts'
import type { Alert, AlertSilence } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { DialogText } from '../../ui/dialog.tsx'
import { ChoiceField } from '../../ui/fields/choice-field.tsx'
import form from '../../ui/fields/form.module.css'
import { useFormOf } from '../../ui/fields/form-of-schema.ts'
import { optionsOf } from '../../ui/fields/options.ts'
import { FormFoot, SchemaForm } from '../../ui/fields/schema-form.tsx'
import { notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'
import { formatInstant } from '../../ui/time.tsx'
import { placeOf } from './alert-detail.tsx'
import { scopeWords } from './alert-words.ts'
import { ScopeFields } from './scope-fields.tsx'
import { endOf, scopeOfAlert, type Silence, SilenceForm, type SilenceTexts, UNTIL } from './silence-form.ts'
import { useNames } from './use-names.ts'

interface SilenceDialogProps {
  /** Those that it is for; none: a silence of anything. */
  alerts: readonly Alert[]
  onClose: () => void
}

const ALL_FIELDS: readonly ScopeField[] = ['project', 'spider', 'nodeId', 'nodeTag']

/** Tells nobody of some alerts for a time; they are still listed. */
export function SilenceDialog({ alerts, onClose }: SilenceDialogProps) {
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
      // What is of no spider and no node is only told apart by its rule.
      ruleId: only !== undefined && scopeWords(scopeOfAlert(only), names) === null ? only.ruleId : null,
      ...{ until: 'hour', at: '', comment: '' }
    }),
    save: async ({ until, at, ...silence }) => {
      const untilMs = endOf({ until, at }, Date.now()) ?? Date.now()
      const made: AlertSilence[] = []
      for (const scope of isOfMany ? scopes : [silence])
        made.push((await client.alertSilences.create({ ...(silence as object), ...scope, untilMs } as never)).silence)
      onClose()
      const undo = async () => {
        for (const { id } of made) await client.alertSilences.remove({ id })
      }
      const what = isOfMany ? plural(alerts.length, 'alert') : (scopeWords(silence, names) ?? 'Alerts of the rule')
      notifyUndo(`${what} silenced until ${formatInstant(untilMs)}`, undo)
    }
  })
  const { until, project, ruleId } = asked.values
  const { may, why } = useMay('alerts.answer', isOfMany ? 'somewhere' : placeOf({ project: project || null }))
  const isOfEverything =
    !isOfMany && asked.output !== null && scopeWords(asked.output, names) === null && ruleId === null
  const fits =
    only === undefined ? ALL_FIELDS : only.labels.project === null ? ALL_FIELDS.slice(2) : ALL_FIELDS.slice(0, 2)
  return (
    <Modal opened onClose={onClose} title={titleOf(alerts)} size={520}>
      <SchemaForm form={asked} className={form.form}>
        {isOfMany ? (
          <DialogText>
            Nobody is told of any alert of{' '}
            {scopes
              .map((scope) => scopeWords(scope, names) ?? `the rule ${ruleNameOf(scope.ruleId, rules)}`)
              .join('; ')}
            .
          </DialogText>
        ) : (
          <>
            <ScopeFields fields={asked} fits={fits} />
            <Select
              {...asked.input('ruleId')}
              label="Rule"
              placeholder="any"
              clearable
              searchable
              data={rules.map(({ id, name }) => ({ value: id as string, label: name }))}
            />
          </>
        )}
        <ChoiceField {...asked.input('until')} label="For" data={optionsOf(UNTIL)} fullWidth />
        {until === 'at' && (
          <TextInput
            {...asked.input('at')}
            type="datetime-local"
            label="Until"
            description="In your time zone"
            autoFocus
          />
        )}
        <Textarea
          {...asked.input('comment')}
          label="Comment"
          placeholder="Why, for whoever looks at it: maintenance, a known problem"
          maxLength={500}
          autosize
          minRows={2}
        />
        <FormFoot
          form={asked}
          submit="Silence"
          isDisabled={!may}
          says={
            why ??
            (isOfEverything
              ? 'Without any choice, all alerts are silenced.'
              : 'They stay in the list. What was told as firing is still told as ended.')
          }
          onCancel={onClose}
        />
      </SchemaForm>
    </Modal>
  )
}

const NOTHING = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

const titleOf = ([only, ...others]: readonly Alert[]): string =>
  only === undefined
    ? 'Add silence'
    : others.length === 0
      ? `Silence ${only.subject}`
      : `Silence ${plural(others.length + 1, 'alert')}`

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
