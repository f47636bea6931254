import { createHash } from 'node:crypto'
import { isIP, connect, type Socket } from 'node:net'
import { format } from 'node:util'
import type { Clock } from '../../../runtime/clock.ts'
import { sentence } from '../../../../shared/texts/errors/notify.ts'
import type { AddressGuard } from '../addresses.ts'
import type { SendResult } from '../plan-try.ts'
import type { Message, Sender } from './message.ts'
import type { ReadEvidence } from './evidence.ts'
import { hide } from './post-json.ts'
import { renderEmail } from './render-email.ts'
import { renderReport } from './report.ts'
import { type Links, oneLine } from './words.ts'
import { forbidden, guardedLookup } from '../guarded-lookup.ts'

/** The time limit of the whole conversation. Each of its steps has a shorter limit. */
const TIME_LIMIT_MS = 60_000
const PART_LIMIT_MS = 15_000
const CONVERSATION_LINES_MAX = 100
const ANSWER_MAX = 300
/** The commands whose refusal concerns only this message. */
const OF_MESSAGES = ['MAIL FROM', 'RCPT TO', 'DATA', 'API']
/** The codes of a refused login (RFC 4954, section 6), which the operator can fix. */
const ABOUT_LOGINS = [530, 534, 535, 538]

export interface MailParts {
  guard: AddressGuard
  clock: Clock
  links: Links
  readEvidence: ReadEvidence
  /** Certificate authorities of mail servers in tests. Default: those of Node. */
  authorities?: string[] | undefined
}

/** Sends over SMTP, on a new connection for each message. */
export const emailSender =
  (parts: MailParts): Sender<'email'> =>
  async (message) => {
    const limit = new AbortController()
    const timer = parts.clock.setTimer(TIME_LIMIT_MS, () => limit.abort())
    try {
      return await send(parts, message, limit.signal)
    } catch (error) {
      const failure = limit.signal.aborted ? { isGood: false, answer: tooSlow(message) } : failureOf(error, message)
      message.say(`! ${failure.answer}`)
      return failure
    } finally {
      timer.cancel()
    }
  }

async function send(parts: MailParts, message: Message<'email'>, signal: AbortSignal): Promise<SendResult> {
  const { target, secret, news, report = null, madeAtMs } = message
  const { host, port, security, username } = target
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(username !== '' && { auth: { user: username, pass: secret }, forceAuth: true }),
    ...(parts.authorities !== undefined && { tls: { ca: parts.authorities } }),
    // nodemailer's own lookup would bypass the guard.
    getSocket: (_options, callback) => {
      connectToMailServer(parts.guard, host, port).then(
        (connection) => callback(null, { connection }),
        (error: Error) => callback(error)
      )
    },
    connectionTimeout: PART_LIMIT_MS,
    greetingTimeout: PART_LIMIT_MS,
    socketTimeout: PART_LIMIT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    transactionLog: true,
    logger: conversationOf(message)
  })
  const { subject, html, text } =
    report === null ? renderEmail(news, parts.links, await parts.readEvidence(news)) : renderReport(report, parts.links)
  const ids = idsOf(message)
  const info = await transport.sendMail({
    from: target.from,
    to: target.to,
    subject,
    html,
    text,
    signal,
    date: new Date(madeAtMs),
    messageId: ids.own,
    references: [ids.thread],
    inReplyTo: ids.thread,
    ...(news.severity === 'critical' && news.firing.length > 0 && { priority: 'high' as const }),
    // RFC 3834: suppresses automatic replies.
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' }
  })
  const answer = oneLine(hide(info.response, secretsOf(message)), ANSWER_MAX)
  return {
    isGood: true,
    answer: info.rejected.length === 0 ? answer : `${answer}; refused: ${info.rejected.join(', ')}`
  }
}

/**
 * The ids are the same for each attempt, so that mail systems show a repeated message once. `thread`: the id of a
 * message that does not exist. Mail programs use it to group messages (RFC 5256, REFERENCES).
 */
function idsOf({ id, channel, news, target }: Message<'email'>): { own: string; thread: string } {
  const domain = /@([^\s@>]+)>?\s*$/.exec(target.from)?.[1] ?? 'scrapdeck.invalid'
  const digest = (...of: string[]) => createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 32)
  return {
    own: `<${digest('message', channel.id, id)}@${domain}>`,
    thread: `<${digest('group', channel.id, news.groupId)}@${domain}>`
  }
}

/** The texts that the recorded conversation must not show. SMTP logins contain the password in base64. */
function secretsOf({ secret, target: { username } }: Message<'email'>): string[] {
  const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64')
  return [secret, base64(secret), base64(`\0${username}\0${secret}`)]
}

function conversationOf(message: Message<'email'>) {
  const secrets = secretsOf(message)
  let lines = 0
  const record = (entry: unknown, text: unknown, ...more: unknown[]) => {
    const from = (entry as { tnx?: unknown } | null)?.tnx
    const sign = from === 'client' ? '>' : from === 'server' ? '<' : from === 'network' ? '*' : null
    if (sign === null) return
    for (const line of format(text, ...more).split(/\r?\n/)) {
      lines += 1
      if (lines <= CONVERSATION_LINES_MAX) message.say(`${sign} ${oneLine(hide(line, secrets), ANSWER_MAX)}`)
    }
  }
  return { trace: record, debug: record, info: record, warn: record, error: record, fatal: record, level: () => {} }
}

const tooSlow = ({ target: { host } }: Message<'email'>): string =>
  `${host} did not accept the message within ${TIME_LIMIT_MS / 1000} s`

function failureOf(error: unknown, message: Message<'email'>): SendResult {
  const { code, responseCode = 0, command = '', message: raw = '' } = error as MailError
  const { host, port, username } = message.target
  const words = oneLine(hide(raw, secretsOf(message)), ANSWER_MAX)
  const bad = (answer: string): SendResult => ({ isGood: false, answer })
  if (code === 'FORBIDDEN_ADDRESS') return bad(sentence('notify.address_is_inside', { host: raw }).text)
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return bad(`the name ${host} does not resolve. Correct the mail server, or check DNS`)
  if (code === 'ECONNREFUSED') return bad(`nothing listens on ${host}:${port}`)
  if (code === 'EAUTH') return bad(`${host} refused the login of ${username}: ${words}`)
  if (code === 'ETLS') return bad(`no encrypted connection to ${host}: ${words}`)
  if (/CERT|SELF_SIGNED|ISSUER|ERR_TLS/.test(String(code)))
    return bad(`the TLS certificate of ${isIP(host) === 0 ? host : `${host}:${port}`} was rejected (${code})`)
  // RFC 5321, 4.2.1: 5yz is final for this message, but 4yz is not.
  const isFinal = responseCode >= 500 && !ABOUT_LOGINS.includes(responseCode) && OF_MESSAGES.includes(command)
  return { ...bad(words), isFinal }
}

interface MailError {
  code?: string
  responseCode?: number
  command?: string
  message?: string
}

const CONNECT_TIMEOUT_MS = 10_000

/** Rejects with FORBIDDEN_ADDRESS or the connection's error. */
function connectToMailServer(guard: AddressGuard, host: string, port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  // Node does not look up IP addresses.
  if (isIP(host) !== 0 && !guard.isAllowed(host)) {
    reject(forbidden(host))
    return promise
  }
  const socket = connect({ host, port, lookup: guardedLookup(guard), timeout: CONNECT_TIMEOUT_MS })
  const fail = (error: Error) => {
    socket.destroy()
    reject(error)
  }
  const tooLate = () => fail(Object.assign(new Error('No connection in time'), { code: 'ETIMEDOUT' }))
  socket.once('error', fail).once('timeout', tooLate)
  socket.once('connect', () => {
    socket.setTimeout(0).off('timeout', tooLate).off('error', fail)
    resolve(socket)
  })
  return promise
}
