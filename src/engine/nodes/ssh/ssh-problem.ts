import { nameOfSshHost, type SshHost } from '../../../shared/ssh-address.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { commandFor } from './ssh-arguments.ts'
import { backoffMs } from '../../runtime/backoff.ts'

export interface SshProblem {
  /** `by hand`: the problem remains until a user changes something. */
  ends: 'by hand' | 'by itself'
  /** The problem and its remedy, phrased to follow "cannot be reached: ". */
  text: string
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
  text: (found: (string | undefined)[], host: SshHost) => string
}

/** The rules that explain the output of ssh. The first match counts, so causes precede their consequences. */
const RULES: readonly Rule[] = [
  {
    pattern: /REVOKED HOST KEY DETECTED/,
    ends: 'by hand',
    text: (_found, host) =>
      `the host key of SSH host ${nameOfSshHost(host)} is revoked in known_hosts. Do not connect before its administrator says which key is right.`
  },
  {
    pattern: /Host key for (\S+) has changed and you have requested strict checking/,
    ends: 'by hand',
    text: ([, name]) =>
      `the host key of SSH host ${name} has changed: it was set up again, or the connection is being intercepted. Ask its administrator; if the new key is right, remove the old one with ssh-keygen -R '${name}', then connect once by hand to confirm the new one.`
  },
  {
    pattern: /No \S+ host key is known for (\S+) and you have requested strict checking/,
    ends: 'by hand',
    text: ([, name], host) =>
      `the host key of SSH host ${name} is not known here. As the user that runs Scrapdeck, connect once with ${commandFor(host)} and confirm the fingerprint, or add a key that you have verified to ~/.ssh/known_hosts.`
  },
  {
    pattern: /Host key verification failed/,
    ends: 'by hand',
    text: (_found, host) =>
      `the host key of SSH host ${nameOfSshHost(host)} could not be verified. As the user that runs Scrapdeck, connect once with ${commandFor(host)} to see why.`
  },
  {
    pattern: /Too many authentication failures/,
    ends: 'by hand',
    text: (_found, host) =>
      `SSH host ${nameOfSshHost(host)} refused after too many keys were offered. Set IdentityFile and IdentitiesOnly for it in ~/.ssh/config.`
  },
  {
    pattern: /WARNING: UNPROTECTED PRIVATE KEY FILE[\s\S]*?Permissions \S+ for '([^']*)'/,
    ends: 'by hand',
    text: ([, file]) =>
      `ssh does not use the private key ${file}, because other users may read it. Close it with chmod 600 ${file}.`
  },
  {
    pattern: /(?:^|\n)(\S+@\S+): Permission denied \(([^)\n]*)\)/,
    ends: 'by hand',
    text: ([, name, methods], host) =>
      `SSH host ${name} rejected the login (it accepts: ${methods}). Scrapdeck enters no passwords or passphrases: use a key that is accepted there, without a passphrase or loaded into an ssh-agent that Scrapdeck can reach (SSH_AUTH_SOCK), and try it with ${commandFor(host)}.`
  },
  {
    pattern: /No user exists for uid (\d+)/,
    ends: 'by hand',
    text: ([, id]) =>
      `ssh refuses to run for user ${id}, which has no entry in /etc/passwd. Add one, with a home directory that has .ssh.`
  },
  {
    pattern: /Could not resolve hostname (\S+?):/,
    ends: 'by itself',
    text: ([, name]) =>
      `the name of SSH host ${name} does not resolve. Correct the address, add the alias to ~/.ssh/config, or check DNS.`
  },
  {
    pattern: /open failed: (?:administratively prohibited|unknown channel type)/,
    ends: 'by hand',
    text: (_found, host) =>
      `a jump host of SSH host ${nameOfSshHost(host)} does not allow forwarding. See AllowTcpForwarding and PermitOpen in its sshd_config.`
  },
  {
    pattern: /open failed: connect failed: ([^\n]+)/,
    ends: 'by itself',
    text: ([, reason], host) =>
      `a jump host could not connect to SSH host ${nameOfSshHost(host)} (${shown(reason)}). Check the address and the jump host.`
  },
  {
    pattern: /connect to host (\S+) port (\d+): Connection refused/,
    ends: 'by itself',
    text: ([, name, port]) =>
      `no SSH server listens on ${name} port ${port}. Start sshd there, or correct the host or port.`
  },
  {
    pattern: /connect to host (\S+) port (\d+): ([^\n]+)/,
    ends: 'by itself',
    text: ([, name, port, reason]) =>
      `SSH host ${name} port ${port} did not accept a connection (${shown(reason)}). Check the network, firewall and address.`
  },
  {
    pattern: /Connection timed out during banner exchange|banner exchange: Connection to [^\n]* timed out/i,
    ends: 'by itself',
    text: (_found, host) =>
      `SSH host ${nameOfSshHost(host)} accepted the connection but did not answer. Check whether an SSH server listens there, or is overloaded.`
  },
  {
    pattern: /Timeout, server \S+ not responding/,
    ends: 'by itself',
    text: (_found, host) =>
      `SSH host ${nameOfSshHost(host)} stopped responding. Scrapdeck reconnects by itself; check the host and the network if this persists.`
  },
  {
    pattern: /no matching (host key type|key exchange method|cipher|MAC) found/i,
    ends: 'by hand',
    text: ([, what], host) =>
      `SSH host ${nameOfSshHost(host)} and this OpenSSH have no ${what} in common. Update the host, or allow one that it has in ~/.ssh/config.`
  },
  {
    pattern: /(?:^|\n)([^\n]*(?:Bad configuration option|Bad owner or permissions on|bad configuration options)[^\n]*)/,
    ends: 'by hand',
    text: ([, line]) => `ssh cannot use its configuration (${shown(line)}). Correct it.`
  },
  {
    pattern:
      /Connection (?:to \S+ )?(?:closed|reset) by|kex_exchange_identification|send disconnect|Broken pipe|Connection reset/,
    ends: 'by itself',
    text: (_found, host) =>
      `SSH host ${nameOfSshHost(host)} closed the connection. Scrapdeck reconnects by itself; see the log of its sshd if this persists.`
  }
]

/** Explains how an ssh ended. The server can influence its output, so we quote only single words and one line. */
export function problemOf(host: SshHost, end: SshEnd): SshProblem {
  if (end.exitCode === EXIT_NOT_FOUND || end.exitCode === EXIT_NOT_EXECUTABLE) return cannotStart(end.program)
  const stderr = end.stderr.replaceAll('\r', '')
  for (const { pattern, ends, text } of RULES) {
    const found = pattern.exec(stderr)
    if (found !== null)
      return {
        ends,
        text: text(
          [...found].map((part) => (part === undefined ? part : shown(part))),
          host
        )
      }
  }
  if (end.isLate) {
    const waiting = `the SSH connection to ${nameOfSshHost(host)} was not ready in time`
    return { ends: 'by itself', text: `${waiting}. Try ${commandFor(host)} by hand to see what it waits for.` }
  }
  const last = stderr.trim().split('\n').at(-1) ?? ''
  const why = last === '' ? (end.exitCode === null ? 'ssh was ended' : 'ssh ended') : shown(last)
  const text = `the SSH connection to ${nameOfSshHost(host)} failed (${why}). Try ${commandFor(host)} by hand.`
  return { ends: 'by itself', text }
}

function cannotStart(program: string): SshProblem {
  return {
    ends: 'by hand',
    text: `OpenSSH is needed for this address, but ${program} cannot be started. Install it (Debian: openssh-client; Windows: the optional feature OpenSSH Client), or set ssh_program.`
  }
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
