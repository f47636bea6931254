import type { Session } from '../../../shared/contract/index.ts'
import type { Principal } from '../../access/principal.ts'
import type { NoPasskeySite, PasskeySite } from '../../access/second-factor/webauthn.ts'
import type { RequestOrigin } from '../../access/audit/audit.ts'

export interface SessionsOfCaller {
  list(): Session[]
  /** False: there is none that the caller may see. */
  end(id: string): Promise<boolean>
  /** Whether that of this request goes on, asked at any time later; true if the request has none. */
  ownIsOpen: () => boolean
  /** All of the caller's user but that of this request. Rejects with UNAUTHORIZED if that one has ended. */
  endOthers(): Promise<void>
}

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
  /** Ends all browser sessions and returns how many there were. Absent: there is no HTTP server. */
  logOutEverywhere?: () => Promise<number>
  /** The browsers that are logged in, as far as the caller may see them. Absent: there is no HTTP server. */
  sessions?: SessionsOfCaller
  /** Where the caller's browser shows this Scrapdeck. Absent: there is no HTTP server. */
  site?: PasskeySite | NoPasskeySite
  /** It was sent by a page with a logged-in user, not by a program. Absent: no. */
  isFromPage?: boolean
}
