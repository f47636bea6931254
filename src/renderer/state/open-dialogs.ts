import { create } from 'zustand'
import type { RunInput, AlertRule, AlertRuleSettings } from '../../shared/contract/index.ts'

/** What the Run dialog opens with; everything in it stays editable. */
export type RunPrefill = Partial<RunInput>

interface RunDialogState {
  prefill: RunPrefill | null
}

/** `prefill` is null while the dialog is closed. */
export const useRunDialog = create<RunDialogState>(() => ({ prefill: null }))

export const openRunDialog = (prefill: RunPrefill = {}) => useRunDialog.setState({ prefill })
export const closeRunDialog = () => useRunDialog.setState({ prefill: null })

/** What the editor of alert rules opens with: an existing rule, or the initial values of a new one. */
export type AskedRule = { rule: AlertRule } | { prefill: Partial<AlertRuleSettings> }

/** null while the editor is closed. */
export const useAlertRuleEditor = create<{ asked: AskedRule | null }>(() => ({ asked: null }))

export const newAlertRule = (prefill: Partial<AlertRuleSettings> = {}) =>
  useAlertRuleEditor.setState({ asked: { prefill } })
export const editAlertRule = (rule: AlertRule) => useAlertRuleEditor.setState({ asked: { rule } })
export const closeAlertRuleEditor = () => useAlertRuleEditor.setState({ asked: null })
