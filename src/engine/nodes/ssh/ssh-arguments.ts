import type { SshHost } from '../../../shared/ssh-address.ts'

// A connection that answers nothing is ended after three of these.
const ALIVE_INTERVAL_SECONDS = 5
const CONNECT_TIMEOUT_SECONDS = 15

/**
 * What must hold whatever ~/.ssh/config says for that host: ssh never prompts (no user would answer), checks host keys,
 * forwards and runs nothing else, and reports errors. Everything else is the user's: keys, agents, jump hosts,
 * known_hosts.
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
 * The arguments of an ssh that connects and runs nothing there. It can be asked for connections at `controlPath`; its
 * standard streams are a connection to `target`, which its log says is open; or it only stays logged in, and logs that.
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

/** What a person types to connect there by hand, with the user, port and host of the address. */
export function commandFor(host: SshHost): string {
  return ['ssh', ...destinationOf(host).filter((word) => word !== '--')].join(' ')
}

function destinationOf({ user, host, port }: SshHost): string[] {
  const named = [...(user === null ? [] : ['-l', user]), ...(port === null ? [] : ['-p', String(port)])]
  return [...named, '--', host]
}
