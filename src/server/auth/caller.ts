import type { Principal } from '../../engine/access/principal.ts'

/** Who sent a request. */
export interface Caller {
  /**
   * `password`: sent the password with this request, like every program. `node`: a pulling node, at its own door only.
   * `nobody`: public routes.
   */
  kind: 'session' | 'password' | 'node' | 'nobody'
  /** Stable per session, token or user name (of a node: its id), and useless for logging in; empty for nobody. */
  id: string
  /** The cookie of a session, which may be renewed. Absent: there is none. */
  cookie?: string
  /** null: a node, or nobody. */
  principal: Principal | null
}

export const NOBODY: Caller = { kind: 'nobody', id: '', principal: null }
