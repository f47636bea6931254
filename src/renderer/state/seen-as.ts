import { create } from 'zustand'
import type { Permission } from '../../shared/permissions.ts'

export interface SeenRole {
  name: string
  permissions: readonly Permission[]
}

/** The role in which an owner previews the pages. null: the owner's own. The engine's permissions do not change. */
export const useSeenAs = create<{ role: SeenRole | null }>(() => ({ role: null }))

export const seeAs = (role: SeenRole | null): void => useSeenAs.setState({ role })
