import type { SshHost } from '../../../shared/ssh-address.ts'

// A connection that answers nothing is ended after three of these.
const ALIVE_INTERVAL_SECONDS = 5
const CONNECT_TIMEOUT_SECONDS = 15

/**
 * What must hold whatever ~/.ssh/config says for that host: nothing is asked (there is nobody), host keys are checked,
 * nothing else is forwarded or run, and errors are told. Everything else is the user's: keys, agents, jump hosts,
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
  'LogLevel=INFO',
  'ConnectionAttempts=1',
  `ConnectTimeout=${CONNECT_TIMEOUT_SECONDS}`,
  `ServerAliveInterval=${ALIVE_INTERVAL_SECONDS}`,
  'ServerAliveCountMax=3'
]

/** The arguments of an ssh that connects, runs nothing there, and can be asked for connections at `controlPath`. */
export function sshArguments(host: SshHost, controlPath: string): string[] {
  const options = [...OPTIONS, 'ControlMaster=yes', `ControlPath=${controlPath}`, 'ControlPersist=no']
  return ['-N', '-T', '-n', ...options.flatMap((option) => ['-o', option]), ...destinationOf(host)]
}

/** What a person types to connect there by hand, with the user, port and host of the address. */
export function commandFor(host: SshHost): string {
  return ['ssh', ...destinationOf(host).filter((word) => word !== '--')].join(' ')
}

function destinationOf({ user, host, port }: SshHost): string[] {
  const named = [...(user === null ? [] : ['-l', user]), ...(port === null ? [] : ['-p', String(port)])]
  return [...named, '--', host]
}
