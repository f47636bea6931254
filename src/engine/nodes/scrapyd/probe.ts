import type { NodeAddress, ProbeResult } from '../../../shared/contract/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { writtenAs } from '../../../shared/texts/message.ts'
import { splitAddress } from '../../../shared/ssh-address.ts'
import { healthOf, NodeError } from '../node-client.ts'
import { checkCertificates } from './certificates.ts'
import type { createConnection } from './connection.ts'
import type { SshTunnels, TunnelUse } from '../ssh/ssh-tunnels.ts'
import { isLoopbackUrl, parseNodeUrl } from './node-url.ts'
import { parseProxyUrl, refuseProxyOverSsh } from './proxy.ts'
import { type ClientLimits, createScrapydClient } from './scrapyd-client.ts'

/** What a probe reveals about the address. The fleet adds the omitted fields. */
export type ProbedNode = Omit<ProbeResult, 'duplicateOf' | 'keepsPassword'>

export function unreachedNode(url: string, warnings: string[]): ProbedNode {
  return {
    url,
    warnings,
    reachable: false,
    health: 'unknown',
    problem: null,
    scrapydVersion: null,
    nodeName: null,
    running: null,
    pending: null,
    projects: [],
    latencyMs: null,
    clockOffsetMs: null
  }
}

export function connectionOf(address: NodeAddress) {
  const connection = {
    caCertificate: address.caCertificate || null,
    clientCertificate: address.clientCertificate || null,
    clientKey: address.clientKey || null,
    proxyUrl: address.proxyUrl ? parseProxyUrl(address.proxyUrl) : null
  }
  checkCertificates(connection)
  return connection
}

/** Resolves even if the node is down or is not a Scrapyd. Rejects with NODE_URL_INVALID or NODE_CONNECTION_INVALID. */
export async function probeNode(options: {
  address: NodeAddress
  clock: Clock
  logger: Logger
  limits?: Partial<ClientLimits>
  connect?: typeof createConnection | undefined
  tunnels?: Pick<SshTunnels, 'use'> | undefined
  signal?: AbortSignal
}): Promise<ProbedNode> {
  const { address, clock, logger, limits, connect, tunnels, signal } = options
  const parsed = parseNodeUrl(address.url)
  const parts = {
    url: parsed.url,
    username: address.username || parsed.username,
    password: address.password || parsed.password,
    ...connectionOf(address)
  }
  const name = new URL(splitAddress(parsed.url).inner).hostname
  refuseProxyOverSsh(parts)
  const client = createScrapydClient({ ...parts, name, clock, logger, limits, connect, tunnels })
  const result = unreachedNode(parsed.url, warningsFor(parts))
  try {
    await connected(client.tunnel, { clock, signal })
    await client.daemonStatus(signal)
    // The first response includes the time to connect. The second shows the latency of a request.
    const begunAtMs = clock.monotonicMs()
    const status = await client.daemonStatus(signal)
    result.latencyMs = Math.round(clock.monotonicMs() - begunAtMs)
    result.reachable = true
    result.nodeName = status.nodeName
    result.running = status.running
    result.pending = status.pending
    result.clockOffsetMs = status.clockOffsetMs
    result.projects = await client.listProjects(signal)
    result.scrapydVersion = (await client.probeVersion?.(signal)) ?? null
    result.health = 'up'
  } catch (error) {
    if (!(error instanceof NodeError)) throw error
    result.health = healthOf(error)
    result.reachable ||= result.health === 'unauthorized' || result.health === 'invalid'
    Object.assign(result, writtenAs('problem', error.said))
    // The node does require a password, so the warning is wrong.
    if (result.health === 'unauthorized') result.warnings = result.warnings.filter((one) => one !== NO_PASSWORD)
  } finally {
    await client.close()
  }
  return result
}

/** Waits for the first SSH login, which can take longer than a request. The next request reports a failed login. */
async function connected(
  tunnel: TunnelUse | undefined,
  { clock, signal }: { clock: Clock; signal: AbortSignal | undefined }
): Promise<void> {
  if (tunnel === undefined) return
  const enough = new AbortController()
  const timer = clock.setTimer(SSH_LOGIN_MS, () => enough.abort())
  const either = signal === undefined ? enough.signal : AbortSignal.any([enough.signal, signal])
  await tunnel.settled(either).catch(() => {})
  timer.cancel()
}

const SSH_LOGIN_MS = 20_000

const NO_PASSWORD = 'No password is set: if this node requires none, anyone who can reach it can run code there.'

function warningsFor(address: { url: string; username: string | null; password: string | null }): string[] {
  const warnings: string[] = []
  const hasPassword = Boolean(address.username && address.password)
  const { ssh, inner } = splitAddress(address.url)
  if (inner.startsWith('http:') && !isLoopbackUrl(inner)) {
    const where = 'between the SSH host and this node'
    warnings.push(
      ssh !== null
        ? `The connection ${where} is not encrypted: others on the network there can read and change what is sent.`
        : hasPassword
          ? 'The connection is not encrypted: others on the network can read the password. Put TLS in front of this node.'
          : 'The connection is not encrypted: others on the network can read and change what is sent to this node.'
    )
  }
  if (!hasPassword) {
    warnings.push(NO_PASSWORD)
  }
  return warnings
}
