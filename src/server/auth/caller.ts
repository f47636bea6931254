import type { Principal } from '../../engine/access/principal.ts'

/** Who sent a request. */
export interface Caller {
  /**
   * `password`: sent the password with this request, like every program. `node`: a pulling node, at its own endpoints
   * only. `anonymous`: public routes.
   */
  kind: 'session' | 'password' | 'node' | 'anonymous'
  /** Stable per session, token or user name (of a node: its id), and useless for logging in; empty if anonymous. */
  id: string
  /** The cookie of a session, which may be renewed. Absent: there is none. */
  cookie?: string
  /** null: a node, or anonymous. */
  principal: Principal | null
}

export const ANONYMOUS: Caller = { kind: 'anonymous', id: '', principal: null }
