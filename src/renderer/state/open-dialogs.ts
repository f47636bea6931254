import { create } from 'zustand'
import type { RunInput, AlertRule, AlertRuleSettings } from '../../shared/contract/index.ts'

export type RunPrefill = Partial<RunInput>

interface RunDialogState {
  prefill: RunPrefill | null
}

export const useRunDialog = create<RunDialogState>(() => ({ prefill: null }))

export const openRunDialog = (prefill: RunPrefill = {}) => useRunDialog.setState({ prefill })
export const closeRunDialog = () => useRunDialog.setState({ prefill: null })

export type AskedRule = { rule: AlertRule } | { prefill: Partial<AlertRuleSettings> }

export const useAlertRuleEditor = create<{ asked: AskedRule | null }>(() => ({ asked: null }))

export const newAlertRule = (prefill: Partial<AlertRuleSettings> = {}) =>
  useAlertRuleEditor.setState({ asked: { prefill } })
export const editAlertRule = (rule: AlertRule) => useAlertRuleEditor.setState({ asked: { rule } })
export const closeAlertRuleEditor = () => useAlertRuleEditor.setState({ asked: null })
