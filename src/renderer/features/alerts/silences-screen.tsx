import { Button, Flex, Group } from '@mantine/core'
import { IconBellOff, IconPlus, IconRepeat } from '@tabler/icons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { describeWindows, windowFrom } from '../../../shared/calendar/index.ts'
import type { AlertSilence } from '../../../shared/contract/index.ts'
import { formatWait } from '../../../shared/time.ts'
import { useApi } from '../../api/api.tsx'
import { useHasOperation } from '../../state/remote-engines.ts'
import { useMay } from '../../api/use-me.ts'
import type { AlertSilencesSearch } from '../../state/search.ts'
import { useNow } from '../../ui/clock.ts'
import { FilterBox } from '../../ui/filter-bar.tsx'
import { notifyError, notifyUndo } from '../../ui/notify.tsx'
import { Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { EmptyState, QueryState } from '../../ui/states.tsx'
import { formatInstant } from '../../ui/time.tsx'
import { formatMoment } from '../../ui/moment.ts'
import { placeOf } from './alert-detail.tsx'
import { AlertsTabs } from './alerts-tabs.tsx'
import { capitalised, scopeWords } from './alert-words.ts'
import classes from './alerts.module.css'
import { REMOVED_AT_ONCE, RemoveShown } from './remove-shown.tsx'
import { SilenceDialog } from './silence-dialog.tsx'
import { useNames } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'
import { texts as calendar } from '../../../shared/texts/ui/calendar.ts'

const route = getRouteApi('/alerts/silences')

export function SilencesScreen() {
  const { client, query } = useApi()
  const has = useHasOperation()
  const { add: adding }: AlertSilencesSearch = route.useSearch()
  const navigate = route.useNavigate()
  const silences = useQuery(query.alertSilences.list.queryOptions())
  const { may, why } = useMay('alerts.answer')
  const nowMs = useNow()
  const [typed, setTyped] = useState('')
  const names = useNames()
  const left = silences.data?.silences.flatMap((silence) => windowedAt(silence, nowMs)).toSorted(bySoonest(nowMs))
  const shown = (left ?? []).filter(({ silence }) =>
    [scopeWords(silence, names), silence.comment, silence.by].join(' ').toLowerCase().includes(typed.toLowerCase())
  )
  const go = (add: AlertSilencesSearch['add']) => void navigate({ search: { add } })
  const common = { disabled: !may, title: why ?? undefined }
  const add = (
    <Group gap={8}>
      <Button {...common} leftSection={<IconRepeat size={14} />} onClick={() => go('window')}>
        <span>{texts.addMaintenance(<span className={classes.wide}>{texts.maintenanceWord}</span>)}</span>
      </Button>
      <Button {...common} variant="filled" leftSection={<IconPlus size={14} />} onClick={() => go('silence')}>
        {texts.addSilence}
      </Button>
    </Group>
  )
  return (
    <PanelsScreen>
      <ScreenHead
        title={texts.alerts}
        views={<AlertsTabs />}
        note={left && left.length > 0 && texts.silenceCountNote(left.length)}
      >
        {left !== undefined && left.length > 0 && (
          <FilterBox
            label={texts.filterSilences}
            placeholder={texts.filterSilencesPlaceholder}
            value={typed}
            onChange={setTyped}
          />
        )}
        {may && has('alertSilences.removeMany') && typed !== '' && shown.length > 0 && (
          <RemoveShown
            act={texts.end}
            label={texts.endSilences(Math.min(shown.length, REMOVED_AT_ONCE))}
            effect={texts.endSilencesHint}
            remove={() =>
              client.alertSilences.removeMany({
                ids: shown.slice(0, REMOVED_AT_ONCE).map(({ silence }) => silence.id)
              })
            }
          />
        )}
        {add}
      </ScreenHead>
      <QueryState query={silences} what={texts.theSilences} rows={4}>
        {() =>
          left?.length === 0 ? (
            <EmptyState icon={<IconBellOff size={32} stroke={1.3} />} title={texts.noSilences} action={add}>
              {texts.noSilencesHint}
            </EmptyState>
          ) : (
            <Panel flush>
              <ul className="divided">
                {shown.map((one) => (
                  <SilenceRow key={one.silence.id} {...one} nowMs={nowMs} />
                ))}
              </ul>
            </Panel>
          )
        }
      </QueryState>
      {adding !== undefined && (
        <SilenceDialog key={adding} alerts={[]} isMaintenance={adding === 'window'} onClose={() => go(undefined)} />
      )}
    </PanelsScreen>
  )
}

interface Windowed {
  silence: AlertSilence
  fromMs: number
  untilMs: number
}

const windowedAt = (silence: AlertSilence, nowMs: number): Windowed[] => {
  const window = windowFrom(silence, nowMs)
  return window === null ? [] : [{ silence, ...window }]
}

const bySoonest =
  (nowMs: number) =>
  (one: Windowed, other: Windowed): number =>
    Math.max(one.fromMs, nowMs) - Math.max(other.fromMs, nowMs) || one.untilMs - other.untilMs

const minuteOf = (atMs: number, nowMs: number) => formatMoment(atMs - (atMs % 60_000), nowMs)

function SilenceRow({ silence, fromMs, untilMs, nowMs }: Windowed & { nowMs: number }) {
  const { client, query } = useApi()
  const names = useNames()
  const rules = useQuery(query.alertRules.list.queryOptions()).data?.rules
  const { id, ruleId, repeats, by, comment } = silence
  const { may, why } = useMay('alerts.answer', placeOf(silence))
  const ruleName = rules?.find((one) => one.id === ruleId)?.name
  const rule = ruleId === null ? null : ruleName === undefined ? texts.removedRuleScope : texts.ruleScope(ruleName)
  const what = [scopeWords(silence, names), rule].filter(Boolean).join(', ') || texts.allAlerts
  const hasBegun = fromMs <= nowMs
  // Removing a repeating silence also removes its future windows.
  const isEnded = hasBegun && repeats === null
  const end = useMutation(
    query.alertSilences.remove.mutationOptions({
      onSuccess: () => {
        const { id: _id, by: _by, ...again } = silence
        notifyUndo(texts.silenceEnded(what), () => client.alertSilences.create(again))
      },
      onError: (error) => notifyError(texts.couldNotEndSilence, error)
    })
  )
  return (
    <li className={classes.row} aria-label={texts.silenceOf(what)} data-off={!hasBegun || undefined}>
      <div className={`${classes.words} grow`}>
        <strong className="semibold">{capitalised(what)}</strong>
        {repeats !== null && (
          <p className={classes.repeats}>
            <IconRepeat size={13} aria-hidden />
            {describeWindows(silence, calendar)}
          </p>
        )}
        {comment !== '' && <p>{comment}</p>}
      </div>
      <span className={`${classes.facts} ${classes.times} fixed dim`}>
        <span title={formatInstant(hasBegun ? untilMs : fromMs)}>
          {hasBegun
            ? texts.untilLeft(minuteOf(untilMs, nowMs), formatWait(untilMs - nowMs))
            : repeats === null
              ? texts.timeSpan(minuteOf(fromMs, nowMs), minuteOf(untilMs, nowMs))
              : texts.nextIn(formatWait(fromMs - nowMs))}
        </span>
        <span>{texts.silencedBy(by)}</span>
      </span>
      <Flex component="span" align="center" gap={6} justify="flex-end" className="fixed">
        <Button
          size="compact-xs"
          disabled={!may || end.isPending}
          title={why ?? undefined}
          onClick={() => end.mutate({ id })}
          aria-label={isEnded ? texts.endSilenceOf(what) : texts.removeSilenceOf(what)}
        >
          {isEnded ? texts.endNow : texts.remove}
        </Button>
      </Flex>
    </li>
  )
}
