import { MAX_DEBT_SECONDS } from '../token-bucket.ts'

/**
 * Scripts use the cache's clock, so the engines' clocks do not matter. Only tests pass a time. Numbers are passed as
 * text, because Redis truncates fractions.
 */

const NOW = `
local function now(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
end
`

/** The same rule as takeFrom (token-bucket.ts). KEYS: bucket. ARGV: burst, perSecond, cost, now. */
const TAKE = `${NOW}
local burst, perSecond, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local at = now(ARGV[4])
local bucket = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = burst
if bucket[1] and bucket[2] then
  local before = tonumber(bucket[2])
  if at < before then at = before end
  left = math.min(burst, tonumber(bucket[1]) + ((at - before) / 1000) * perSecond)
end
local taken = 0
if left >= math.min(cost, burst) then
  taken = 1
  left = math.max(left - cost, -${MAX_DEBT_SECONDS} * perSecond)
end
redis.call('HSET', KEYS[1], 'left', string.format('%.17g', left), 'at', string.format('%.17g', at))
redis.call('PEXPIRE', KEYS[1], math.ceil((burst - left) / perSecond * 1000) + 1000)
return { taken, string.format('%.17g', left) }
`

/** KEYS: counter. ARGV: window in ms. */
const COUNT_FAILURE = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('PTTL', KEYS[1]) }
`

const ADD = `
local at = now(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then redis.call('ZPOPMIN', KEYS[1]) end
redis.call('ZADD', KEYS[1], at + tonumber(ARGV[2]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`
const ADD_LINK = NOW + ADD

const HAS_LINK = `${NOW}
local expiry = redis.call('ZSCORE', KEYS[1], ARGV[1])
if expiry and tonumber(expiry) > now(ARGV[2]) then return 1 end
return 0
`

/** Like HAS_LINK, but removes the hash, because a link works once. */
const TAKE_LINK = `${NOW}
local expiry = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
if expiry and tonumber(expiry) > now(ARGV[2]) then return 1 end
return 0
`

/**
 * Sessions belong to credentials. An engine with different credentials neither sees nor ends them. If the cache lost
 * its data, the first session sets the fingerprint of the credentials.
 */
const OURS = (fingerprint: string) => `
local kept = redis.call('GET', KEYS[2])
if kept and kept ~= ${fingerprint} then return false end
`

/** KEYS: set, fingerprint. ARGV: hash, validity in ms, maximum number of members, now, fingerprint. */
const ADD_SESSION = `${NOW}${OURS('ARGV[5]')}
if not kept then redis.call('SET', KEYS[2], ARGV[5]) end
${ADD}`

/** KEYS: set, fingerprint. ARGV: now, fingerprint, hashes. */
const HAVE_SESSIONS = `${NOW}${OURS('ARGV[2]')}
local at = now(ARGV[1])
local found = {}
for index = 3, #ARGV do
  local expiry = redis.call('ZSCORE', KEYS[1], ARGV[index])
  found[index - 2] = (expiry and tonumber(expiry) > at) and 1 or 0
end
return found
`

/** KEYS: set, fingerprint. ARGV: hash, fingerprint. */
const END_SESSION = `${OURS('ARGV[2]')}
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
`

/** KEYS: set, fingerprint. ARGV: now, fingerprint. */
const END_SESSIONS = `${NOW}${OURS('ARGV[2]')}
local count = redis.call('ZCOUNT', KEYS[1], string.format('(%.17g', now(ARGV[1])), '+inf')
redis.call('DEL', KEYS[1])
return count
`

/**
 * Ends all sessions and links if the credentials are not those of the last engine that started. KEYS: sessions,
 * fingerprint, links. ARGV: fingerprint.
 */
const ADOPT_CREDENTIALS = `
local kept = redis.call('GET', KEYS[2])
if kept == ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
if not kept then return 0 end
redis.call('DEL', KEYS[1], KEYS[3])
return 1
`

/**
 * Also records the newest position of all answers, which reveals that a database was restored to an earlier state.
 * This record outlives all answers. KEYS: answer, newest. ARGV: entry, position, ms to keep the answer.
 */
const WRITE_ANSWER = `
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
local newest = tonumber(redis.call('GET', KEYS[2]) or '-1')
if newest < tonumber(ARGV[2]) then newest = tonumber(ARGV[2]) end
redis.call('SET', KEYS[2], string.format('%.0f', newest), 'PX', ARGV[3] * 2 + 60000)
return 1
`

/** The keys are the names of the client's methods. */
export const SCRIPTS = {
  take: { lua: TAKE, numberOfKeys: 1 },
  countFailure: { lua: COUNT_FAILURE, numberOfKeys: 1 },
  addLink: { lua: ADD_LINK, numberOfKeys: 1 },
  hasLink: { lua: HAS_LINK, numberOfKeys: 1 },
  takeLink: { lua: TAKE_LINK, numberOfKeys: 1 },
  addSession: { lua: ADD_SESSION, numberOfKeys: 2 },
  haveSessions: { lua: HAVE_SESSIONS, numberOfKeys: 2 },
  endSession: { lua: END_SESSION, numberOfKeys: 2 },
  endSessions: { lua: END_SESSIONS, numberOfKeys: 2 },
  adoptCredentials: { lua: ADOPT_CREDENTIALS, numberOfKeys: 3 },
  writeAnswer: { lua: WRITE_ANSWER, numberOfKeys: 2 }
} as const satisfies Record<string, { lua: string; numberOfKeys: number }>

export type ScriptName = keyof typeof SCRIPTS
