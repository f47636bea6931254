import type { Principal } from '../access/principal.ts'
import type { RequestOrigin } from '../audit/audit.ts'

/** What the transport knows about a request. */
export interface RouterContext {
  /** Who sent the request. */
  principal: Principal
  /** Who sent the request, for the job's record: the app's own UI, or a program. */
  source: 'ui' | 'api'
  /** Where it came from, for the audit log. Absent: from this process. */
  origin?: RequestOrigin
  /** The client's idempotency key: its jobs are created once, even if the request is repeated after a crash. */
  onceKey?: string
  /** The caller has just sent the password, or has the desktop's own window: it may be shown. Absent: false. */
  showsPassword?: boolean
  /** Ends all browser sessions and returns how many there were. Absent: there is no HTTP server. */
  logOutEverywhere?: () => Promise<number>
}
