import { create } from 'zustand'
import type { AlertRule, AlertRuleSettings } from '../../shared/contract/index.ts'

/** What the editor of alert rules opens with: a rule that there is, or what a new one begins with. */
export type AskedRule = { rule: AlertRule } | { prefill: Partial<AlertRuleSettings> }

/** null while the editor is closed. */
export const useAlertRuleEditor = create<{ asked: AskedRule | null }>(() => ({ asked: null }))

export const newAlertRule = (prefill: Partial<AlertRuleSettings> = {}) =>
  useAlertRuleEditor.setState({ asked: { prefill } })
export const editAlertRule = (rule: AlertRule) => useAlertRuleEditor.setState({ asked: { rule } })
export const closeAlertRuleEditor = () => useAlertRuleEditor.setState({ asked: null })
