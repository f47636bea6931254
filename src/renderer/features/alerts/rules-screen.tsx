import { Button } from '@mantine/core'
import { IconListSearch, IconPlus } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import type { AlertRuleState } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { useHasOperation } from '../../state/remote-engines.ts'
import { useMay } from '../../api/use-me.ts'
import { useKeys } from '../../state/keys.ts'
import { newAlertRule } from '../../state/open-dialogs.ts'
import type { AlertRulesSearch } from '../../state/search.ts'
import { FilterBox } from '../../ui/filter-bar.tsx'
import { joinFacts } from '../../ui/numbers.ts'
import { Panel, ScreenHead, PanelsScreen } from '../../ui/panel.tsx'
import { NoMatch, QueryState } from '../../ui/states.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { AlertsTabs } from './alerts-tabs.tsx'
import { conditionWords, type Names } from './alert-words.ts'
import { FirstRules, UsualRulesDialog } from './first-rules.tsx'
import { isNoisy } from './noise.ts'
import { REMOVED_AT_ONCE, RemoveShown } from './remove-shown.tsx'
import { RuleRow } from './rule-row.tsx'
import { useNames } from './use-names.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

const route = getRouteApi('/alerts/rules')

export function RulesScreen() {
  const { client, query } = useApi()
  const has = useHasOperation()
  const search: AlertRulesSearch = route.useSearch()
  const navigate = route.useNavigate()
  const setSearch = (patch: AlertRulesSearch) =>
    void navigate({ search: (before: AlertRulesSearch) => ({ ...before, ...patch }), replace: true })
  const [typed, setTyped] = useTyped(search.text, (text) => setSearch({ text }))
  const filterBox = useRef<HTMLInputElement>(null)
  const names = useNames()
  const rules = useQuery(query.alertRules.list.queryOptions())
  const { may } = useMay('alerts.change')
  const mayEverywhere = useMay('alerts.change', 'everywhere').may
  const [isAdding, setAdding] = useState(false)
  useKeys(texts.alertRules, [
    { key: '/', label: texts.filter, run: () => filterBox.current?.focus() },
    ...(may ? [{ key: 'n', label: texts.newAlertRule, run: () => newAlertRule() }] : [])
  ])
  const all = rules.data?.rules ?? []
  const shown = all.filter((rule) => matches(rule, search.text ?? '', names))
  const clear = () => {
    setTyped('')
    setSearch({ text: undefined })
  }
  return (
    <PanelsScreen>
      <ScreenHead title={texts.alerts} views={<AlertsTabs />} note={rules.data && countWords(all)}>
        {all.length > 0 && (
          <>
            <FilterBox
              label={texts.filterRules}
              placeholder={texts.filterPlaceholder}
              value={typed}
              onChange={setTyped}
              onClear={clear}
              inputRef={filterBox}
            />
            {may && has('alertRules.removeMany') && search.text !== undefined && shown.length > 0 && (
              <RemoveShown
                act={texts.remove}
                label={texts.removeRules(Math.min(shown.length, REMOVED_AT_ONCE))}
                effect={texts.removeRulesHint}
                remove={() =>
                  client.alertRules.removeMany({ ids: shown.slice(0, REMOVED_AT_ONCE).map(({ id }) => id) })
                }
              />
            )}
            {mayEverywhere && <Button onClick={() => setAdding(true)}>{texts.recommendedRulesItem}</Button>}
          </>
        )}
        {may && (
          <Button variant="filled" leftSection={<IconPlus size={14} />} onClick={() => newAlertRule()}>
            {texts.newRule}
          </Button>
        )}
      </ScreenHead>
      <QueryState query={rules} what={texts.theAlertRules} rows={8}>
        {() =>
          all.length === 0 ? (
            <FirstRules />
          ) : shown.length === 0 ? (
            <NoMatch icon={<IconListSearch size={28} />} title={texts.noMatchingRules} onClear={clear} />
          ) : (
            <Panel flush>
              <ul className="divided">
                {shown.map((rule) => (
                  <RuleRow key={rule.id} rule={rule} names={names} />
                ))}
              </ul>
            </Panel>
          )
        }
      </QueryState>
      {isAdding && <UsualRulesDialog onClose={() => setAdding(false)} />}
    </PanelsScreen>
  )
}

const matches = (rule: AlertRuleState, text: string, names: Names): boolean =>
  `${rule.name} ${rule.owner} ${conditionWords(rule, names)}`.toLowerCase().includes(text.toLowerCase())

function countWords(rules: readonly AlertRuleState[]): string {
  const off = rules.filter(({ enabled }) => !enabled).length
  const noisy = rules.filter(isNoisy).length
  return joinFacts(texts.ruleCount(rules.length), off > 0 && texts.offCount(off), noisy > 0 && texts.noisyCount(noisy))
}
