import type { Session } from '../../../shared/contract/index.ts'
import type { Principal } from '../../access/principal.ts'
import type { SessionsOfCaller } from '../../api/router/router-context.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15'

/** Two browser sessions, which are the HTTP server's and not the engine's. */
export function sessionsOf({ userId, name }: Principal): SessionsOfCaller {
  const nowMs = Date.now()
  const common = { address: '10.3.0.21', createdAtMs: nowMs - 3_600_000, endsAtMs: nowMs + 86_400_000 }
  const sessions = new Map<string, Session>()
  const add = (session: Omit<Session, keyof typeof common>) => sessions.set(session.id, { ...common, ...session })
  const [own, other] = ['0'.repeat(64), '1'.repeat(64)]
  add({
    id: own,
    userId,
    userName: name,
    signedInWith: 'link',
    userAgent: FIREFOX,
    lastSeenAtMs: nowMs,
    isCurrent: true
  })
  const seen = { lastSeenAtMs: nowMs - 1_260_000, isCurrent: false }
  add({ id: other, userId: null, userName: 'anna', signedInWith: 'passkey', userAgent: SAFARI, ...seen })
  return {
    list: () => [...sessions.values()],
    end: async (id) => sessions.delete(id),
    ownIsOpen: () => true,
    endOthers: async () => {}
  }
}
