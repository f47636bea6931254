import type { SshHost } from '../../../shared/ssh-address.ts'

// A connection ends after three of these intervals without a response.
const ALIVE_INTERVAL_SECONDS = 5
const CONNECT_TIMEOUT_SECONDS = 15

/**
 * These options override ~/.ssh/config: ssh checks host keys, reports errors, never prompts, and forwards and runs
 * nothing else. The user's configuration supplies everything else: keys, agents, jump hosts, known_hosts.
 */
const OPTIONS = [
  'BatchMode=yes',
  'StrictHostKeyChecking=yes',
  'NoHostAuthenticationForLocalhost=no',
  'ClearAllForwardings=yes',
  'ForwardAgent=no',
  'ForwardX11=no',
  'GSSAPIDelegateCredentials=no',
  'Tunnel=no',
  'PermitLocalCommand=no',
  'RemoteCommand=none',
  'ConnectionAttempts=1',
  `ConnectTimeout=${CONNECT_TIMEOUT_SECONDS}`,
  `ServerAliveInterval=${ALIVE_INTERVAL_SECONDS}`,
  'ServerAliveCountMax=3'
]

/**
 * The arguments for an ssh process that runs no command. `controlPath`: ssh opens connections on request at this
 * socket. `target`: the standard streams of ssh become a connection to this address. Without a socket, the log of ssh
 * confirms the connection or login.
 */
export function sshArguments(
  host: SshHost,
  purpose: { controlPath: string } | { target: string } | 'stays logged in'
): string[] {
  const isShared = typeof purpose === 'object' && 'controlPath' in purpose
  const shared = isShared
    ? ['ControlMaster=yes', `ControlPath=${purpose.controlPath}`, 'ControlPersist=no', 'LogLevel=INFO']
    : ['ControlMaster=no', 'ControlPath=none', `LogLevel=${purpose === 'stays logged in' ? 'DEBUG1' : 'DEBUG2'}`]
  const mode = typeof purpose === 'object' && 'target' in purpose ? ['-T', '-W', purpose.target] : ['-N', '-T', '-n']
  return [...mode, ...[...OPTIONS, ...shared].flatMap((option) => ['-o', option]), ...destinationOf(host)]
}

/** The command that connects by hand with the same user, port and host. */
export function commandFor(host: SshHost): string {
  return ['ssh', ...destinationOf(host).filter((word) => word !== '--')].join(' ')
}

function destinationOf({ user, host, port }: SshHost): string[] {
  const named = [...(user === null ? [] : ['-l', user]), ...(port === null ? [] : ['-p', String(port)])]
  return [...named, '--', host]
}
