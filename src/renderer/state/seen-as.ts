import { create } from 'zustand'
import type { Permission } from '../../shared/permissions.ts'

/** The part of a role that matters for what a page shows. */
export interface SeenRole {
  name: string
  permissions: readonly Permission[]
}

/**
 * The role with which an owner looks at the pages, to see what others see; null: the own role. What the engine
 * allows does not change.
 */
export const useSeenAs = create<{ role: SeenRole | null }>(() => ({ role: null }))

export const seeAs = (role: SeenRole | null): void => useSeenAs.setState({ role })
