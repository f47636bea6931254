import { nameOfSshHost, type SshHost } from '../../../shared/ssh-address.ts'
import { type Message, say } from '../../../shared/texts/message.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { commandFor } from './ssh-arguments.ts'
import { backoffMs } from '../../runtime/backoff.ts'

export interface SshProblem {
  /** `by hand`: the problem remains until a user changes something. */
  ends: 'by hand' | 'by itself'
  /** The problem and its remedy, phrased to follow "cannot be reached: ". */
  said: Message
}

export interface SshEnd {
  stderr: string
  /** 127: the shell did not find the program. null: ended by a signal. */
  exitCode: number | null
  isLate: boolean
  program: string
}

const EXIT_NOT_EXECUTABLE = 126
export const EXIT_NOT_FOUND = 127
const LINE_LENGTH_MAX = 200

interface Rule {
  pattern: RegExp
  ends: SshProblem['ends']
  /** `host`: the host's name in the address. `command`: connects to the host by hand. */
  said: (found: string[], of: { host: string; command: string }) => Message
}

/** The rules that explain the output of ssh. The first match counts, so causes precede their consequences. */
const RULES: readonly Rule[] = [
  {
    pattern: /REVOKED HOST KEY DETECTED/,
    ends: 'by hand',
    said: (_found, { host }) => say('ssh.key_revoked', { host })
  },
  {
    pattern: /Host key for (\S+) has changed and you have requested strict checking/,
    ends: 'by hand',
    said: ([, host = '']) => say('ssh.key_changed', { host })
  },
  {
    pattern: /No \S+ host key is known for (\S+) and you have requested strict checking/,
    ends: 'by hand',
    said: ([, host = ''], { command }) => say('ssh.key_unknown', { host, command })
  },
  {
    pattern: /Host key verification failed/,
    ends: 'by hand',
    said: (_found, of) => say('ssh.key_not_verified', of)
  },
  {
    pattern: /Too many authentication failures/,
    ends: 'by hand',
    said: (_found, { host }) => say('ssh.too_many_keys', { host })
  },
  {
    pattern: /WARNING: UNPROTECTED PRIVATE KEY FILE[\s\S]*?Permissions \S+ for '([^']*)'/,
    ends: 'by hand',
    said: ([, file = '']) => say('ssh.key_file_open', { file })
  },
  {
    pattern: /(?:^|\n)(\S+@\S+): Permission denied \(([^)\n]*)\)/,
    ends: 'by hand',
    said: ([, host = '', methods = ''], { command }) => say('ssh.login_rejected', { host, methods, command })
  },
  {
    pattern: /No user exists for uid (\d+)/,
    ends: 'by hand',
    said: ([, userId = '']) => say('ssh.user_unknown', { userId })
  },
  {
    pattern: /Could not resolve hostname (\S+?):/,
    ends: 'by itself',
    said: ([, host = '']) => say('ssh.name_unresolved', { host })
  },
  {
    pattern: /open failed: (?:administratively prohibited|unknown channel type)/,
    ends: 'by hand',
    said: (_found, { host }) => say('ssh.jump_forbids', { host })
  },
  {
    pattern: /open failed: connect failed: ([^\n]+)/,
    ends: 'by itself',
    said: ([, why = ''], { host }) => say('ssh.jump_failed', { host, why })
  },
  {
    pattern: /connect to host (\S+) port (\d+): Connection refused/,
    ends: 'by itself',
    said: ([, host = '', port = '']) => say('ssh.nothing_listens', { host, port })
  },
  {
    pattern: /connect to host (\S+) port (\d+): ([^\n]+)/,
    ends: 'by itself',
    said: ([, host = '', port = '', why = '']) => say('ssh.no_connection', { host, port, why })
  },
  {
    pattern: /Connection timed out during banner exchange|banner exchange: Connection to [^\n]* timed out/i,
    ends: 'by itself',
    said: (_found, { host }) => say('ssh.no_answer', { host })
  },
  {
    pattern: /Timeout, server \S+ not responding/,
    ends: 'by itself',
    said: (_found, { host }) => say('ssh.silent', { host })
  },
  {
    pattern: /no matching (host key type|key exchange method|cipher|MAC) found/i,
    ends: 'by hand',
    said: ([, what = ''], { host }) => say('ssh.nothing_in_common', { host, what })
  },
  {
    pattern: /(?:^|\n)([^\n]*(?:Bad configuration option|Bad owner or permissions on|bad configuration options)[^\n]*)/,
    ends: 'by hand',
    said: ([, line = '']) => say('ssh.configuration_bad', { line })
  },
  {
    pattern:
      /Connection (?:to \S+ )?(?:closed|reset) by|kex_exchange_identification|send disconnect|Broken pipe|Connection reset/,
    ends: 'by itself',
    said: (_found, { host }) => say('ssh.closed', { host })
  }
]

/** Explains why ssh ended. The server can influence the output of ssh, so we quote only single words and one line. */
export function problemOf(host: SshHost, end: SshEnd): SshProblem {
  if (end.exitCode === EXIT_NOT_FOUND || end.exitCode === EXIT_NOT_EXECUTABLE) {
    return { ends: 'by hand', said: say('ssh.program_missing', { program: end.program }) }
  }
  const of = { host: nameOfSshHost(host), command: commandFor(host) }
  const stderr = end.stderr.replaceAll('\r', '')
  for (const { pattern, ends, said } of RULES) {
    const found = pattern.exec(stderr)
    if (found !== null) return { ends, said: said([...found].map(shown), of) }
  }
  if (end.isLate) return { ends: 'by itself', said: say('ssh.late', of) }
  const last = stderr.trim().split('\n').at(-1) ?? ''
  const silent = () => say(end.exitCode === null ? 'ssh.was_ended' : 'ssh.ended', of)
  return { ends: 'by itself', said: last === '' ? silent() : say('ssh.failed', { ...of, why: shown(last) }) }
}

function shown(text: string | undefined): string {
  return showUnseen((text ?? '').trim().slice(0, LINE_LENGTH_MAX))
}

const BOUNDS_MS: Record<SshProblem['ends'], { first: number; most: number }> = {
  'by itself': { first: 1_000, most: 60_000 },
  // Hosts ban clients that often fail to log in.
  'by hand': { first: 30_000, most: 600_000 }
}

/**
 * The delay before the next attempt to connect. `failures`: failed attempts in a row. `chance` in [0, 1): shortens
 * the delay by up to half, so that engines that lost a host together do not retry together.
 */
export function retryDelayMs(ends: SshProblem['ends'], failures: number, chance: number): number {
  const { first, most } = BOUNDS_MS[ends]
  return Math.round(backoffMs(failures, first, most) * (1 - chance / 2))
}
