import { Button } from '@mantine/core'
import { IconBellOff, IconPlus } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AlertSilence } from '../../../shared/contract/index.ts'
import { formatWait } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import { useNow } from '../../ui/clock.ts'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { plural } from '../../ui/numbers.ts'
import { Panel, ScreenHead } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/waiting.tsx'
import { PanelsScreen } from '../../ui/panels-screen.tsx'
import { placeOf } from './alert-detail.tsx'
import { AlertsTabs } from './alerts-tabs.tsx'
import { capitalised, scopeWords } from './alert-words.ts'
import classes from './alerts.module.css'
import { SilenceDialog } from './silence-dialog.tsx'
import { useNames } from './use-names.ts'

/** What nobody is told of, until when, and why. */
export function SilencesScreen() {
  const { query } = useApi()
  const silences = useQuery(query.alertSilences.list.queryOptions())
  const { may, why } = useMay('alerts.answer')
  const [isAdding, setAdding] = useState(false)
  const nowMs = useNow()
  const left = silences.data?.silences.filter(({ untilMs }) => untilMs > nowMs)
  const add = (
    <Button
      variant="filled"
      leftSection={<IconPlus size={14} />}
      disabled={!may}
      title={why ?? undefined}
      onClick={() => setAdding(true)}
    >
      Add silence
    </Button>
  )
  return (
    <PanelsScreen>
      <ScreenHead title="Alerts" views={<AlertsTabs />} note={left && plural(left.length, 'silence')}>
        {add}
      </ScreenHead>
      <QueryState query={silences} what="the silences" rows={4}>
        {() =>
          left?.length === 0 ? (
            <EmptyState icon={<IconBellOff size={32} stroke={1.3} />} title="No silences" action={add}>
              While a silence lasts, nobody is told of the alerts that it fits. They are still listed. Silence an alert
              from the list of alerts, or a project, a node or a rule before its maintenance begins.
            </EmptyState>
          ) : (
            <Panel flush>
              <ul className={classes.rows}>
                {left
                  ?.toSorted((one, other) => one.untilMs - other.untilMs)
                  .map((silence) => (
                    <SilenceRow key={silence.id} silence={silence} nowMs={nowMs} />
                  ))}
              </ul>
            </Panel>
          )
        }
      </QueryState>
      {isAdding && <SilenceDialog alerts={[]} onClose={() => setAdding(false)} />}
    </PanelsScreen>
  )
}

/** Seconds would only look exact. */
const minuteOf = (atMs: number, nowMs: number) => formatMoment(atMs - (atMs % 60_000), nowMs)

function SilenceRow({ silence, nowMs }: { silence: AlertSilence; nowMs: number }) {
  const { client, query } = useApi()
  const names = useNames()
  const rules = useQuery(query.alertRules.list.queryOptions()).data?.rules
  const { id, ruleId, fromMs, untilMs, by, comment } = silence
  const { may, why } = useMay('alerts.answer', placeOf(silence))
  const rule =
    ruleId === null ? null : `the rule ${rules?.find((one) => one.id === ruleId)?.name ?? 'that was removed'}`
  const what = [scopeWords(silence, names), rule].filter(Boolean).join(', ') || 'all alerts'
  const hasBegun = fromMs <= nowMs
  const end = useMutation(
    query.alertSilences.remove.mutationOptions({
      onSuccess: () => {
        const { project, spider, scheduleId, nodeId, nodeTag } = silence
        const again = { project, spider, scheduleId, nodeId, nodeTag, ruleId, fromMs, untilMs, comment }
        notifyUndo(`Silence ended: ${what}`, () => client.alertSilences.create(again))
      },
      onError: (error) => notifyError('Could not end the silence', error)
    })
  )
  return (
    <li className={classes.row} aria-label={`Silence of ${what}`} data-off={!hasBegun || undefined}>
      <div className={classes.words}>
        <strong>{capitalised(what)}</strong>
        {comment !== '' && <p>{comment}</p>}
      </div>
      <span className={classes.facts}>
        <span title={formatInstant(untilMs)}>
          {hasBegun
            ? `until ${minuteOf(untilMs, nowMs)}, ${formatWait(untilMs - nowMs)} left`
            : `${minuteOf(fromMs, nowMs)} to ${minuteOf(untilMs, nowMs)}`}
        </span>
        <span>by {by}</span>
      </span>
      <span className={classes.acts}>
        <Button
          size="compact-xs"
          disabled={!may || end.isPending}
          title={why ?? undefined}
          onClick={() => end.mutate({ id })}
          aria-label={`${hasBegun ? 'End' : 'Remove'} the silence of ${what}`}
        >
          {hasBegun ? 'End now' : 'Remove'}
        </Button>
      </span>
    </li>
  )
}
