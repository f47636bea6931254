import type { Session } from '../../../shared/contract/index.ts'
import type { Principal } from '../../access/principal.ts'
import type { NoPasskeySite, PasskeySite } from '../../access/second-factor/webauthn.ts'
import type { RequestOrigin } from '../../access/audit/audit.ts'

export interface SessionsOfCaller {
  list(): Session[]
  /** Returns false if there is no such session that the caller may see. */
  end(id: string): Promise<boolean>
  /** Whether the session of this request is still open. true if the request has no session. */
  ownIsOpen: () => boolean
  /** Rejects with UNAUTHORIZED if the session of this request has ended. */
  endOthers(): Promise<void>
}

export interface RouterContext {
  principal: Principal
  /** The app's UI, or a program. Recorded with the job. */
  source: 'ui' | 'api'
  /** For the audit log. Absent if the request is from this process. */
  origin?: RequestOrigin
  /** The jobs of a request with this key are created only once, even if the request is repeated after a crash. */
  onceKey?: string
  /** Ends all browser sessions and returns their number. Absent if there is no HTTP server. */
  logOutEverywhere?: () => Promise<number>
  /** The sessions that the caller may see. Absent if there is no HTTP server. */
  sessions?: SessionsOfCaller
  /** Where the caller's browser shows this Scrapdeck. Absent if there is no HTTP server. */
  site?: PasskeySite | NoPasskeySite
  /** Whether a page with a logged-in user, not a program, sent the request. */
  isFromPage?: boolean
}
