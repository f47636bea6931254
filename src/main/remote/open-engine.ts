import { join } from 'node:path'
import type { AnyRouter } from '@orpc/server'
import type { SshTunnels } from '../../engine/nodes/ssh/ssh-tunnels.ts'
import type { Clock, Timer } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { asSealedText, type SecretBox } from '../../engine/runtime/secret-box.ts'
import { contract, listOperations } from '../../shared/contract/index.ts'
import { EngineCredentials, type RemoteEngine } from '../../shared/desktop/contract.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import { connectRemote, type EngineClient, type RemoteAddress, type RemoteConnection } from './connection.ts'
import { type StoredEngine, compareVersions } from './engine-file.ts'
import { forwardingRouter } from './forward.ts'
import { LastAnswers } from './last-answers.ts'

interface Parts {
  statesDirectory: string
  tunnels: Pick<SshTunnels, 'use'>
  secretBox: SecretBox
  appVersion: string
  clock: Clock
  logger: Logger
  publish(): void
  whileLive: WhileLive
}

/** Starts the work that lasts while the engine responds. The work must end when the signal aborts. */
export type WhileLive = (
  engine: { id: string; name: string; isReadOnly: boolean; client: EngineClient },
  signal: AbortSignal
) => void

type Contact = Pick<RemoteEngine, 'state' | 'sinceMs' | 'problem' | 'version' | 'age' | 'lacks'>

const CHECK_AGAIN_MS = { live: 15_000, connecting: 3_000, offline: 3_000 }
export const CHECK_MAX_MS = 15_000
/** How often to refresh the stored responses, which are shown while there is no connection. */
const REFRESH_MS = 60_000
const OPERATIONS = listOperations(contract)

/**
 * One engine: its connection, opened on first use, and its state.
 *
 *   connecting ──responds──▶ live ──no response──▶ offline ──responds──▶ live
 *       any ──other credentials or certificate──▶ refused ──edited, or Retry──▶ connecting
 *
 * A refused engine is not retried automatically, because the engine counts each wrong password.
 */
export class OpenEngine {
  stored: StoredEngine
  readonly router: AnyRouter
  readonly #refresh: () => Promise<void>
  #refreshedAtMs = 0
  readonly #parts: Parts
  readonly #kept: LastAnswers
  #contact: Contact
  #connection: Promise<RemoteConnection> | null = null
  #next: Timer | null = null
  #live: AbortController | null = null
  #isStopped = false
  /** Increases when a check starts, so that the result of an earlier check is ignored. */
  #checks = 0
  #described: { version: string; lacks: string[] } | null = null

  constructor(stored: StoredEngine, parts: Parts) {
    this.stored = stored
    this.#parts = parts
    this.#kept = new LastAnswers(join(parts.statesDirectory, stored.id), parts)
    this.#contact = {
      ...({ state: 'connecting', sinceMs: parts.clock.nowMs() } as const),
      problem: null,
      version: null,
      age: null,
      lacks: []
    }
    const name = () => this.stored.name
    const call = async (): Promise<RemoteConnection> => this.#connect()
    const forwarding = forwardingRouter({
      get name() {
        return name()
      },
      kept: this.#kept,
      connect: call,
      isOffline: () => this.#contact.state === 'offline',
      isReadOnly: () => this.stored.readOnly,
      lacks: (operation) => this.#contact.lacks.includes(operation),
      onTrouble: () => this.#contact.state === 'live' && this.checkNow()
    })
    this.router = forwarding.router
    this.#refresh = forwarding.refresh
    this.checkNow()
  }

  describe(): RemoteEngine {
    const { sealed: _, certificate, ...shown } = this.stored
    return {
      ...shown,
      pinned: certificate?.fingerprint ?? null,
      ...this.#contact,
      asOfMs: this.#kept.asOfMs
    }
  }

  async openCredentials(): Promise<EngineCredentials> {
    try {
      const text = await this.#parts.secretBox.open(asSealedText(this.stored.sealed))
      return EngineCredentials.parse(JSON.parse(text))
    } catch (error) {
      throw new ScrapdeckError(
        'UNAUTHORIZED',
        sentence('desktop.credentials_not_decrypted', { name: this.stored.name }),
        { cause: error }
      )
    }
  }

  async replace(stored: StoredEngine): Promise<void> {
    const { url, sealed, certificate } = this.stored
    this.stored = stored
    const isSame = url === stored.url && sealed === stored.sealed && certificate === stored.certificate
    this.#endLive()
    if (!isSame) await this.#disconnect()
    // The stored responses may belong to another user or another engine.
    if (url !== stored.url || sealed !== stored.sealed) await this.#kept.clear()
    this.checkNow()
  }

  /** The address with a token, if a user has signed in for this computer. null if the engine has other credentials. */
  ownToken(): Promise<RemoteAddress> | null {
    if (this.stored.signsInWith !== 'browser') return null
    const { name, url, certificate } = this.stored
    return this.openCredentials().then((credentials) => ({ name, url, certificate, credentials }))
  }

  retryNow(): void {
    this.#connection?.then(
      (open) => open.retryNow(),
      () => {}
    )
    this.checkNow()
  }

  forget(): Promise<void> {
    return this.#kept.clear()
  }

  checkNow(): void {
    this.#next?.cancel()
    const check = ++this.#checks
    this.#check()
      .then((contact) => check === this.#checks && !this.#isStopped && this.#record(contact))
      .catch((error: unknown) => this.#parts.logger.error({ err: error }, 'A remote engine could not be checked'))
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#next?.cancel()
    this.#endLive()
    await this.#disconnect()
    await this.#kept.stop()
  }

  #connect(): Promise<RemoteConnection> {
    if (this.#isStopped)
      throw new ScrapdeckError('ENGINE_UNREACHABLE', sentence('desktop.engine_removed', { name: this.stored.name }))
    this.#connection ??= this.openCredentials().then((credentials) =>
      connectRemote({ ...this.stored, credentials }, this.#parts)
    )
    return this.#connection
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.then(
      (open) => open.close(),
      () => {}
    )
  }

  async #check(): Promise<Omit<Contact, 'sinceMs'>> {
    const { version, age, lacks } = this.#contact
    let connection: RemoteConnection | null = null
    try {
      connection = await this.#connect()
      const signal = AbortSignal.timeout(CHECK_MAX_MS)
      const { scrapdeckVersion } = await connection.client.system.status(undefined, { signal })
      const found = compareVersions(scrapdeckVersion, this.#parts.appVersion)
      const missing = found === 'older' ? await this.#findMissing(connection, scrapdeckVersion) : []
      return { state: 'live', problem: null, version: scrapdeckVersion, age: found, lacks: missing }
    } catch (error) {
      const { code, message } = connection === null ? (error as ScrapdeckError) : await connection.explain(error)
      // If there is no connection, make the next attempt decrypt the credentials again.
      if (connection === null) this.#connection = null
      const isRefused = code === 'UNAUTHORIZED' || code.startsWith('ENGINE_CERTIFICATE_')
      return { state: isRefused ? 'refused' : 'offline', problem: { code, message }, version, age, lacks }
    }
  }

  async #findMissing(connection: RemoteConnection, version: string): Promise<string[]> {
    if (this.#described?.version === version) return this.#described.lacks
    const known = await connection.readOperations()
    const lacks = [...OPERATIONS]
      .filter(([, operation]) => {
        const { method, path } = operation['~orpc'].route
        return !known.has(`${method} ${path}`)
      })
      .map(([name]) => name)
    this.#described = { version, lacks }
    return lacks
  }

  async #beginLive(): Promise<void> {
    if (this.#live !== null || this.#contact.lacks.includes('alerts.notices')) return
    const live = (this.#live = new AbortController())
    const { id, name, readOnly } = this.stored
    // Connecting can fail, because the engine's state may have changed since the last check.
    const client = await this.#connect().then(
      (connection) => connection.client,
      () => null
    )
    if (client === null) this.#endLive()
    else if (!live.signal.aborted) this.#parts.whileLive({ id, name, isReadOnly: readOnly, client }, live.signal)
  }

  #endLive(): void {
    this.#live?.abort()
    this.#live = null
  }

  #refreshSometimes(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (nowMs - this.#refreshedAtMs < REFRESH_MS) return
    this.#refreshedAtMs = nowMs
    // The next check reports any problem.
    this.#refresh().catch(() => {})
  }

  #record(contact: Omit<Contact, 'sinceMs'>): void {
    const before = this.#contact
    const sinceMs = before.state === contact.state ? before.sinceMs : this.#parts.clock.nowMs()
    this.#contact = { ...contact, sinceMs }
    if (contact.state === 'live') {
      this.#refreshSometimes()
      void this.#beginLive()
    } else this.#endLive()
    if (JSON.stringify(before) !== JSON.stringify(this.#contact)) this.#parts.publish()
    if (contact.state === 'refused') return
    this.#next = this.#parts.clock.setTimer(CHECK_AGAIN_MS[contact.state], () => this.checkNow())
  }
}
