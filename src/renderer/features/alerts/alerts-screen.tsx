import { needsSomebody } from '../../../shared/alert-watches.ts'
import { Button, SegmentedControl } from '@mantine/core'
import { IconBell, IconCircleCheck, IconPlus } from '@tabler/icons-react'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Alert, AlertRuleId } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useMay } from '../../api/use-me.ts'
import type { KeyBinding } from '../../state/keys.ts'
import { newAlertRule } from '../../state/open-dialogs.ts'
import type { AlertsSearch } from '../../state/search.ts'
import { FilterBar } from '../../ui/filter-bar.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { LinkButton } from '../../ui/link-button.tsx'
import { ListScreen, usePages, PAGED } from '../../ui/list-screen.tsx'
import { EmptyState, NoMatch } from '../../ui/states.tsx'
import { Select } from '../../ui/fields/select.tsx'
import { alertColumns } from './alert-columns.tsx'
import { AlertDetail } from './alert-detail.tsx'
import { AlertsTabs } from './alerts-tabs.tsx'
import { FirstRules } from './first-rules.tsx'
import { SilenceDialog } from './silence-dialog.tsx'
import { isOpen, useAlertActions } from './use-alert-actions.ts'
import { MarksBar } from '../../ui/marks-bar.tsx'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const route = getRouteApi('/alerts')
const PAGE_ROWS = 100
const ROW_PX = 46
const STATES = { all: texts.all, firing: texts.firing, resolved: texts.endedLabel } as const
const NO_MATCH = { all: texts.noMatchingAlerts, firing: texts.noFiringAlerts, resolved: texts.noEndedAlerts }

export function AlertsScreen() {
  const { query } = useApi()
  const { state, rule: ruleId, alert: openId }: AlertsSearch = route.useSearch()
  const navigate = route.useNavigate()
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set())
  const [silencing, setSilencing] = useState<readonly Alert[] | null>(null)
  const { acknowledge, takeBack } = useAlertActions()
  const mayAnswer = useMay('alerts.answer').may
  const mayChange = useMay('alerts.change').may
  const rules = useQuery(query.alertRules.list.queryOptions())
  const list = useInfiniteQuery(
    query.alerts.list.infiniteOptions({
      input: (before: string | undefined) => ({ state, ruleId, before, limit: PAGE_ROWS }),
      ...PAGED
    })
  )
  const { rows, loadMore } = usePages(list, 'alerts')
  const columns = useMemo(
    () => alertColumns(mayAnswer ? (alert) => void acknowledge([alert]) : null),
    [mayAnswer, acknowledge]
  )

  const setSearch = (patch: AlertsSearch, replace = false) =>
    void navigate({ search: (before: AlertsSearch) => ({ ...before, ...patch }), replace })
  const clear = () => setSearch({ state: undefined, rule: undefined }, true)
  const clearMarks = () => setMarks(new Set())
  const opened = rows.find(({ id }) => id === openId)
  const marked = rows.filter(({ id }) => marks.has(id))
  // Without rules, explain alerts instead of the filters and an empty table.
  const isFirst = rules.data?.rules.length === 0 && list.data !== undefined && rows.length === 0
  const isFiltering = state !== undefined || ruleId !== undefined
  const keys: KeyBinding[] = [
    ...(mayAnswer
      ? [
          {
            key: 'a',
            label: texts.acknowledgeOpenAlert,
            run: () => void (opened !== undefined && isOpen(opened) && acknowledge([opened]))
          },
          {
            key: 's',
            label: texts.silenceOpenAlert,
            run: () => opened?.state === 'firing' && setSilencing([opened])
          }
        ]
      : []),
    ...(mayChange ? [{ key: 'n', label: texts.newAlertRule, run: () => newAlertRule() }] : []),
    {
      key: 'Escape',
      label: texts.clearSelectionAndDetails,
      run: () => (marks.size > 0 ? clearMarks() : setSearch({ alert: undefined }))
    }
  ]
  return (
    <>
      <ListScreen
        title={texts.alerts}
        views={<AlertsTabs />}
        note={list.data === undefined || isFirst || state === 'resolved' ? undefined : countWords(rows)}
        actions={
          mayChange && (
            <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => newAlertRule()}>
              {texts.newRule}
            </Button>
          )
        }
        keys={keys}
        instead={isFirst && !isFiltering ? <FirstRules /> : undefined}
        bar={
          <FilterBar onClear={isFiltering ? clear : null}>
            <SegmentedControl
              aria-label={texts.state}
              size="xs"
              value={state ?? 'all'}
              onChange={(value) => setSearch({ state: value === 'all' ? undefined : value }, true)}
              data={(Object.keys(STATES) as (keyof typeof STATES)[]).map((value) => ({ value, label: STATES[value] }))}
            />
            <Select
              size="xs"
              rightSectionWidth={22}
              aria-label={texts.rule}
              placeholder={texts.allRules}
              clearable
              searchable
              value={ruleId ?? null}
              data={(rules.data?.rules ?? []).map(({ id, name }) => ({ value: id as string, label: name }))}
              onChange={(value) => setSearch({ rule: (value ?? undefined) as AlertRuleId | undefined }, true)}
            />
          </FilterBar>
        }
        query={list}
        what={texts.theAlerts}
        table={{
          rows,
          rowId: idOf,
          columns,
          openId,
          onOpen: (alert) => setSearch({ alert: alert.id }, openId !== undefined),
          onEndReached: loadMore,
          rowPx: ROW_PX,
          ...(mayAnswer && { marks, onMarks: setMarks }),
          empty: isFiltering ? (
            <NoMatch icon={<IconBell size={28} />} title={NO_MATCH[state ?? 'all']} onClear={clear} />
          ) : (
            <EmptyState
              icon={<IconCircleCheck size={28} />}
              title={texts.noAlerts}
              action={<LinkButton to="/alerts/rules">{texts.showRules}</LinkButton>}
            >
              {texts.noAlertsHint}
            </EmptyState>
          )
        }}
        pane={
          opened !== undefined && (
            <AlertDetail
              key={opened.id}
              alert={opened}
              onAcknowledge={() => void acknowledge([opened])}
              onTakeBack={() => void takeBack(opened)}
              onSilence={() => setSilencing([opened])}
              onClose={() => setSearch({ alert: undefined })}
            />
          )
        }
      />
      {marked.length > 0 && (
        <AlertsBar
          marked={marked}
          onAcknowledge={(alerts) => {
            clearMarks()
            void acknowledge(alerts)
          }}
          onSilence={setSilencing}
          onClear={clearMarks}
        />
      )}
      {silencing !== null && (
        <SilenceDialog
          alerts={silencing}
          onClose={() => {
            setSilencing(null)
            clearMarks()
          }}
        />
      )}
    </>
  )
}

const idOf = ({ id }: Alert) => id

/** `5 firing · 2 not acknowledged` */
function countWords(rows: readonly Alert[]): string {
  const firing = rows.filter(({ state }) => state === 'firing')
  const open = firing.filter(needsSomebody).length
  if (firing.length === 0) return texts.noneFiring
  return joinFacts(texts.firingCount(firing.length), open > 0 && texts.notAcknowledged(open))
}

interface AlertsBarProps {
  marked: readonly Alert[]
  onAcknowledge: (alerts: readonly Alert[]) => void
  onSilence: (alerts: readonly Alert[]) => void
  onClear: () => void
}

function AlertsBar({ marked, onAcknowledge, onSilence, onClear }: AlertsBarProps) {
  const open = marked.filter(isOpen)
  const firing = marked.filter(({ state }) => state === 'firing')
  return (
    <MarksBar label={texts.selectedAlerts} selected={texts.alertsSelected(marked.length)} onClear={onClear}>
      <Button
        disabled={open.length === 0}
        title={open.length === 0 ? texts.nothingToAcknowledge : undefined}
        onClick={() => onAcknowledge(open)}
      >
        {texts.acknowledgeCount(open.length)}
      </Button>
      <Button
        disabled={firing.length === 0}
        title={firing.length === 0 ? texts.nothingToSilence : undefined}
        onClick={() => onSilence(firing)}
      >
        {texts.silenceCount(firing.length)}
      </Button>
    </MarksBar>
  )
}
