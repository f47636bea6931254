import { create } from 'zustand'
import type { RunInput } from '../../shared/contract/index.ts'

/** What the Run dialog opens with; everything in it stays editable. */
export type RunPrefill = Partial<RunInput>

interface RunDialogState {
  prefill: RunPrefill | null
}

/** `prefill` is null while the dialog is closed. */
export const useRunDialog = create<RunDialogState>(() => ({ prefill: null }))

export const openRunDialog = (prefill: RunPrefill = {}) => useRunDialog.setState({ prefill })
export const closeRunDialog = () => useRunDialog.setState({ prefill: null })
