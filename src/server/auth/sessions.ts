import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { createToken, hashToken } from './secrets.ts'

export const SESSION_MS = 30 * 24 * 3_600_000
const MAX_SESSIONS = 1000

export interface Sessions {
  /** The token of a new session: what the cookie holds. */
  create(): string
  isValid(token: string): boolean
  end(token: string): void
}

const SessionsFile = z.record(z.string().regex(/^[0-9a-f]{64}$/), z.number())

/** The browsers that are logged in, in a file over restarts: hashes of their tokens, with which nobody can log in. */
export function openSessions(options: { file: string; clock: Clock; logger: Logger }): Sessions {
  const { file, clock, logger } = options
  const expiryByHash = new Map(Object.entries(readSessions(file, logger)))
  const write = () => {
    const temporary = `${file}.new`
    writeFileSync(temporary, JSON.stringify(Object.fromEntries(expiryByHash)), { mode: 0o600 })
    renameSync(temporary, file)
  }
  return {
    create() {
      for (const [hash, expiresAtMs] of expiryByHash) if (expiresAtMs <= clock.nowMs()) expiryByHash.delete(hash)
      const oldest = expiryByHash.keys().next().value
      if (expiryByHash.size >= MAX_SESSIONS && oldest !== undefined) expiryByHash.delete(oldest)
      const token = createToken()
      expiryByHash.set(hashToken(token), clock.nowMs() + SESSION_MS)
      write()
      return token
    },
    isValid: (token) => (expiryByHash.get(hashToken(token)) ?? 0) > clock.nowMs(),
    end(token) {
      if (expiryByHash.delete(hashToken(token))) write()
    }
  }
}

/** An unreadable file costs logins, not the start. */
function readSessions(file: string, logger: Logger): Record<string, number> {
  if (!existsSync(file)) return {}
  try {
    return SessionsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    logger.warn({ err: error, file }, 'The sessions file is damaged: browsers have to log in again')
    return {}
  }
}
