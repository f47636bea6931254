import { create } from 'zustand'
import type { RemoteEngine } from '../../shared/desktop/contract.ts'
import { texts } from '../../shared/texts/ui/shared.ts'

interface RemoteEngines {
  /** null: in a browser, or not loaded yet. */
  engines: RemoteEngine[] | null
  appVersion: string | null
  /** The remote engine that this page shows. null: the page's own engine. */
  current: RemoteEngine | null
  dialog: 'add' | RemoteEngine | null
}

export const useRemoteEngines = create<RemoteEngines>(() => ({
  engines: null,
  appVersion: null,
  current: null,
  dialog: null
}))

export const openEngineDialog = (dialog: RemoteEngines['dialog']): void => useRemoteEngines.setState({ dialog })

/** Why the page's engine accepts no changes now, as a sentence for a tooltip. null: it responds. */
export const useEngineAway = (): string | null =>
  useRemoteEngines(({ current }) =>
    current?.state === 'offline' || current?.state === 'refused'
      ? (current.state === 'offline' ? texts.engineOffline : texts.engineRefused)(current.name)
      : null
  )

/** Whether the page's engine supports an operation; an older engine may not. */
export const useHasOperation = (): ((operation: string) => boolean) => {
  const lacks = useRemoteEngines(({ current }) => current?.lacks)
  return (operation) => lacks === undefined || !lacks.includes(operation)
}
