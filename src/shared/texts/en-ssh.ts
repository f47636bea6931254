import type { Words } from './parts.ts'

interface AtHost {
  /** As in the address, or as ssh prints it. */
  host: string
}
/** `command`: the command with which the user can connect to the host by hand. */
interface ByHand extends AtHost {
  command: string
}
interface AtPort extends AtHost {
  port: string
}

/** Why an SSH host cannot be reached, and what to do. Each text follows "cannot be reached: ". */
export const sshProblems = {
  'ssh.key_revoked': ({ host }: AtHost) =>
    `the host key of SSH host ${host} is revoked in known_hosts. Do not connect before its administrator says which key is right.`,
  'ssh.key_changed': ({ host }: AtHost) =>
    `the host key of SSH host ${host} has changed: it was set up again, or the connection is being intercepted. Ask its administrator; if the new key is right, remove the old one with ssh-keygen -R '${host}', then connect once by hand to confirm the new one.`,
  'ssh.key_unknown': ({ host, command }: ByHand) =>
    `the host key of SSH host ${host} is not known here. As the user that runs Scrapdeck, connect once with ${command} and confirm the fingerprint, or add a key that you have verified to ~/.ssh/known_hosts.`,
  'ssh.key_not_verified': ({ host, command }: ByHand) =>
    `the host key of SSH host ${host} could not be verified. As the user that runs Scrapdeck, connect once with ${command} to see why.`,
  'ssh.too_many_keys': ({ host }: AtHost) =>
    `SSH host ${host} refused after too many keys were offered. Set IdentityFile and IdentitiesOnly for it in ~/.ssh/config.`,
  'ssh.key_file_open': ({ file }: { file: string }) =>
    `ssh does not use the private key ${file}, because other users may read it. Close it with chmod 600 ${file}.`,
  'ssh.login_rejected': ({ host, methods, command }: ByHand & { methods: string }) =>
    `SSH host ${host} rejected the login (it accepts: ${methods}). Scrapdeck enters no passwords or passphrases: use a key that is accepted there, without a passphrase or loaded into an ssh-agent that Scrapdeck can reach (SSH_AUTH_SOCK), and try it with ${command}.`,
  'ssh.user_unknown': ({ userId }: { userId: string }) =>
    `ssh refuses to run for user ${userId}, which has no entry in /etc/passwd. Add one, with a home directory that has .ssh.`,
  'ssh.name_unresolved': ({ host }: AtHost) =>
    `the name of SSH host ${host} does not resolve. Correct the address, add the alias to ~/.ssh/config, or check DNS.`,
  'ssh.jump_forbids': ({ host }: AtHost) =>
    `a jump host of SSH host ${host} does not allow forwarding. See AllowTcpForwarding and PermitOpen in its sshd_config.`,
  'ssh.jump_failed': ({ host, why }: AtHost & { why: string }) =>
    `a jump host could not connect to SSH host ${host} (${why}). Check the address and the jump host.`,
  'ssh.nothing_listens': ({ host, port }: AtPort) =>
    `no SSH server listens on ${host} port ${port}. Start sshd there, or correct the host or port.`,
  'ssh.no_connection': ({ host, port, why }: AtPort & { why: string }) =>
    `SSH host ${host} port ${port} did not accept a connection (${why}). Check the network, firewall and address.`,
  'ssh.no_answer': ({ host }: AtHost) =>
    `SSH host ${host} accepted the connection but did not answer. Check whether an SSH server listens there, or is overloaded.`,
  'ssh.silent': ({ host }: AtHost) =>
    `SSH host ${host} stopped responding. Scrapdeck reconnects by itself; check the host and the network if this persists.`,
  /** `what`: as ssh names it, such as `key exchange method`. */
  'ssh.nothing_in_common': ({ host, what }: AtHost & { what: string }) =>
    `SSH host ${host} and this OpenSSH have no ${what} in common. Update the host, or allow one that it has in ~/.ssh/config.`,
  'ssh.configuration_bad': ({ line }: { line: string }) => `ssh cannot use its configuration (${line}). Correct it.`,
  'ssh.closed': ({ host }: AtHost) =>
    `SSH host ${host} closed the connection. Scrapdeck reconnects by itself; see the log of its sshd if this persists.`,
  'ssh.late': ({ host, command }: ByHand) =>
    `the SSH connection to ${host} was not ready in time. Try ${command} by hand to see what it waits for.`,
  /** `why`: the last line that ssh wrote. */
  'ssh.failed': ({ why, ...of }: ByHand & { why: string }) => failed(of, why),
  /** ssh wrote nothing. */
  'ssh.ended': (of: ByHand) => failed(of, 'ssh ended'),
  'ssh.was_ended': (of: ByHand) => failed(of, 'ssh was ended'),
  'ssh.program_missing': ({ program }: { program: string }) =>
    `OpenSSH is needed for this address, but ${program} cannot be started. Install it (Debian: openssh-client; Windows: the optional feature OpenSSH Client), or set ssh_program.`,
  /** `end`: how ssh ended, as a sentence. */
  'ssh.client_unusable': ({ why, end }: { why: Words; end: Words }) =>
    `the SSH client of this machine cannot be used: ${why}. ${end}`,
  'ssh.client_strange': () => 'the SSH client sent something that is not its protocol',
  'ssh.client_old': () => 'this OpenSSH cannot share its connection (it is before 7.4)',
  'ssh.connection_ended': () => 'the SSH connection ended',
  'ssh.not_started': ({ host, why }: AtHost & { why: string }) =>
    `the SSH connection to ${host} could not be started (${why}). Check that the directory for temporary files can be written.`,
  'ssh.connecting': ({ host }: AtHost) =>
    `the SSH connection to ${host} is not ready yet. Scrapdeck is still connecting.`,
  'ssh.stopped': ({ host }: AtHost) => `the SSH connection to ${host} is closed.`,
  'ssh.second_login_failed': () => 'a login for this connection failed. Try again.',
  'ssh.scrapdeck_stopping': () => 'Scrapdeck is stopping.',
  'ssh.too_many_hosts': ({ most }: { most: number }) => `${most} SSH hosts are in use, which is the limit.`
}

const failed = ({ host, command }: ByHand, why: string): string =>
  `the SSH connection to ${host} failed (${why}). Try ${command} by hand.`
