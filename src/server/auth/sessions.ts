import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { createToken, hashToken } from './secrets.ts'

export const SESSION_MS = 30 * 24 * 3_600_000
const MAX_SESSIONS = 1000

export interface Sessions {
  /** Creates a session and returns its token, the value of the cookie. */
  create(): string
  isValid(token: string): boolean
  end(token: string): void
}

const SessionsFile = z.record(z.string().regex(/^[0-9a-f]{64}$/), z.number())

/** Sessions of browsers, kept in a file across restarts. It stores hashes of tokens, which cannot be used to log in. */
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

/** A damaged file logs everyone out but does not prevent the start. */
function readSessions(file: string, logger: Logger): Record<string, number> {
  if (!existsSync(file)) return {}
  try {
    return SessionsFile.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    logger.warn({ err: error, file }, 'The sessions file is damaged: browsers have to log in again')
    return {}
  }
}
