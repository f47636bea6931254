import { create } from 'zustand'
import type { Role } from '../../shared/roles.ts'

/**
 * The role with which an owner looks at the pages, to see what others see; null: as whoever it is. What the engine
 * allows does not change.
 */
export const useSeenAs = create<{ role: Role | null }>(() => ({ role: null }))

export const seeAs = (role: Role | null): void => useSeenAs.setState({ role })
