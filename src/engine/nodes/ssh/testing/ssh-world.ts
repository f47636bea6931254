import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { readTestEnvironment } from '../../../../../scripts/setup/test-environment.mjs'
import { systemClock } from '../../../runtime/clock.ts'
import { freePort } from '../../../testing/server-process.ts'
import { until } from '../../../testing/until.ts'

/** Why no SSH server can be started here. null: one can. */
export const whyNoSsh = (): string | null =>
  readTestEnvironment().openssh?.server == null ? 'the test environment has no OpenSSH' : null

/** As root, sshd would need a separate account and directory. Any other user can log in as themselves. */
const isRoot = process.getuid?.() === 0
const DAEMON_ID = 1
export const SSH_USER = isRoot ? 'daemon' : userInfo().username

export interface SshServer {
  port: number
  /** `ssh://daemon@127.0.0.1:2222` */
  url: string
  hostKey: string
  /** Replaces the host key, as if the machine had been reinstalled. */
  changeHostKey(): Promise<void>
  /** Ends every connection, as a restarted firewall does. The server accepts new ones. */
  dropConnections(): void
  /** Freezes the server and its connections. */
  pause(): void
  resume(): void
  connections(): number
  kill(): Promise<void>
  start(): Promise<void>
}

/** SSH servers, and a client with its own configuration, known hosts and keys. */
export class SshWorld {
  readonly directory = mkdtempSync(join(tmpdir(), 'scrapdeck-ssh-world-'))
  /** The program that Scrapdeck starts instead of ssh. */
  readonly program = join(this.directory, 'ssh')
  readonly #closers: (() => Promise<void> | void)[] = []
  readonly #known = new Map<number, string>()
  #names = 0
  #hosts = ''
  #agent: string | null = null

  constructor() {
    chmodSync(this.directory, 0o755)
    this.makeKey('user')
    this.#write()
  }

  makeKey(name: string, passphrase = ''): string {
    const file = join(this.directory, name)
    rmSync(file, { force: true })
    const { client } = readTestEnvironment().openssh!
    const words = ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', file]
    execFileSync(join(client, 'ssh-keygen'), words, { env: environment() })
    return file
  }

  /** Adds lines to ~/.ssh/config before those that apply to every host. */
  configure(lines: string): void {
    this.#hosts = lines
    this.#write()
  }

  trust(server: SshServer, { port = server.port } = {}): void {
    this.#known.set(port, `[127.0.0.1]:${port} ${readFileSync(`${server.hostKey}.pub`, 'utf8')}`)
    this.#write()
  }

  distrust(server: { port: number }): void {
    this.#known.delete(server.port)
    this.#write()
  }

  /** `accepts`: private keys with public keys that can log in. */
  async startServer(options: { accepts?: string[]; settings?: string } = {}): Promise<SshServer> {
    const { server: program } = readTestEnvironment().openssh!
    const port = await freePort()
    const name = `host-${(this.#names += 1)}`
    const keys = join(this.directory, `${name}.authorized`)
    const accepted = options.accepts ?? [join(this.directory, 'user')]
    writeFileSync(keys, accepted.map((key) => readFileSync(`${key}.pub`, 'utf8')).join(''))
    const configuration = join(this.directory, `${name}.conf`)
    const lines = [
      ...[`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${join(this.directory, name)}`, 'PidFile none'],
      ...[`AuthorizedKeysFile ${keys}`, 'StrictModes no', 'UsePAM no', 'PasswordAuthentication no'],
      ...['KbdInteractiveAuthentication no', 'MaxStartups 100:30:200', options.settings ?? '']
    ]
    writeFileSync(configuration, `${lines.join('\n')}\n`)
    const log: string[] = []
    let child: ReturnType<typeof spawn> | null = null
    const makeHostKey = () => {
      const key = this.makeKey(name)
      if (isRoot) chownSync(key, DAEMON_ID, DAEMON_ID)
    }
    const server: SshServer = {
      port,
      hostKey: join(this.directory, name),
      url: `ssh://${SSH_USER}@127.0.0.1:${port}`,
      async start() {
        child = spawn(program!, ['-D', '-e', '-f', configuration], {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: environment(),
          ...(isRoot ? { uid: DAEMON_ID, gid: DAEMON_ID } : {})
        })
        child.stderr!.on('data', (piece) => log.push(String(piece)))
        await until(`sshd to listen: ${log.join('')}`, () => accepts(port))
      },
      async changeHostKey() {
        await server.kill()
        makeHostKey()
        await server.start()
      },
      dropConnections: () => signalAll(descendants(child!.pid!).slice(1), 'SIGKILL'),
      pause: () => signalAll(descendants(child!.pid!), 'SIGSTOP'),
      resume: () => signalAll(descendants(child!.pid!), 'SIGCONT'),
      connections: () => descendants(child!.pid!).length - 1,
      async kill() {
        const ending = child
        child = null
        if (ending?.pid === undefined || ending.exitCode !== null) return
        const exited = new Promise((resolve) => ending.once('exit', resolve))
        signalAll(descendants(ending.pid), 'SIGKILL')
        await exited
      }
    }
    makeHostKey()
    await server.start()
    this.#closers.push(() => server.kill())
    this.trust(server)
    return server
  }

  /** Starts an ssh-agent that holds this key, as if the user had entered its passphrase. */
  startAgent(key: string, passphrase: string): void {
    const { client } = readTestEnvironment().openssh!
    const socket = join(this.directory, 'agent')
    const agent = spawn(join(client, 'ssh-agent'), ['-D', '-a', socket], { stdio: 'ignore', env: environment() })
    this.#closers.push(() => void agent.kill())
    const answer = join(this.directory, 'answer')
    writeFileSync(answer, `#!/bin/sh\necho '${passphrase}'\n`, { mode: 0o700 })
    const env = { ...environment(), SSH_AUTH_SOCK: socket, SSH_ASKPASS: answer, SSH_ASKPASS_REQUIRE: 'force' }
    const add = () => execFileSync(join(client, 'ssh-add'), ['-q', key], { env, stdio: 'ignore' })
    for (let attempt = 0; ; attempt += 1) {
      try {
        add()
        break
      } catch (error) {
        // The agent does not listen yet.
        if (attempt === 50) throw error
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
      }
    }
    this.#agent = socket
    this.#write()
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) await close()
    rmSync(this.directory, { recursive: true, force: true })
  }

  #write(): void {
    const known = join(this.directory, 'known_hosts')
    writeFileSync(known, [...this.#known.values()].join(''))
    const common = ['Host *', `UserKnownHostsFile ${known}`, 'GlobalKnownHostsFile none', 'UpdateHostKeys no']
    const keys = this.#agent === null ? ['IdentityAgent none'] : [`IdentityAgent ${this.#agent}`]
    const own = [...common, ...keys, `IdentityFile ${join(this.directory, 'user')}`, 'IdentitiesOnly no']
    const config = join(this.directory, 'config')
    writeFileSync(config, `${this.#hosts}\n${own.join('\n')}\n`)
    const { client, libraries } = readTestEnvironment().openssh!
    const exported = libraries === null ? '' : `export LD_LIBRARY_PATH=${libraries}\n`
    const run = `exec ${join(client, 'ssh')} -F ${config} "$@"`
    writeFileSync(this.program, `#!/bin/sh\n${exported}${run}\n`, { mode: 0o755 })
  }
}

/** An unpacked OpenSSH has its libraries beside its programs. */
function environment(): NodeJS.ProcessEnv {
  const { libraries } = readTestEnvironment().openssh!
  return libraries === null ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries }
}

/** Includes the process itself. */
function descendants(pid: number): number[] {
  const text = (() => {
    try {
      return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    } catch {
      // It has ended.
      return ''
    }
  })()
  return [
    pid,
    ...text
      .split(' ')
      .filter(Boolean)
      .flatMap((child) => descendants(Number(child)))
  ]
}

function signalAll(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Simulates a slow network to an SSH server. Limits the bytes per second in each direction and delays each chunk. */
export async function startSlowLink(to: number, { bytesPerSecond = Infinity, delayMs = 0 } = {}) {
  const sockets = new Set<Socket>()
  const link = {
    port: 0,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    }
  }
  const server = createServer((client) => {
    const upstream = connect(to, '127.0.0.1')
    for (const [from, into] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      sockets.add(from)
      from.on('error', () => from.destroy())
      from.on('close', () => into.destroy())
      from.on('data', (piece: Buffer) => {
        from.pause()
        const takesMs = bytesPerSecond === Infinity ? 0 : (piece.length / bytesPerSecond) * 1000
        systemClock.setTimer(takesMs, () => from.resume())
        systemClock.setTimer(takesMs + delayMs, () => into.write(piece))
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  link.port = (server.address() as AddressInfo).port
  return link
}
