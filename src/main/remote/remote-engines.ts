import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { type AnyRouter, EventPublisher, implement } from '@orpc/server'
import { RPCHandler } from '@orpc/server/message-port'
import type { MessagePortMain } from 'electron'
import type { SshTunnels } from '../../engine/nodes/ssh/ssh-tunnels.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { SecretBox } from '../../engine/runtime/secret-box.ts'
import {
  desktopContract,
  type EngineCredentials,
  type EngineSettings,
  type EnteredCredentials
} from '../../shared/desktop/contract.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/desktop.ts'
import { splitAddress } from '../../shared/ssh-address.ts'
import { refuseBadTrees } from '../../shared/tree-bounds.ts'
import { createWireErrorInterceptor } from '../../shared/wire-errors.ts'
import { BrowserSignIns } from './browser-sign-ins.ts'
import { connectRemote, type RemoteAddress } from './connection.ts'
import { openEngineFile, type StoredEngine, writeEngineFile } from './engine-file.ts'
import { CHECK_MAX_MS, OpenEngine, type WhileLive } from './open-engine.ts'

interface RemoteEnginesOptions {
  path: string
  statesDirectory: string
  tunnels: Pick<SshTunnels, 'use' | 'stop'>
  secretBox: SecretBox
  appVersion: string
  openInBrowser(url: string): void
  /** Called when an engine responds again. The work that the callback starts must end when the signal aborts. */
  whileLive: WhileLive
  clock: Clock
  logger: Logger
}

export interface RemoteEngines {
  /** Serves the desktop app's own operations, which manage the list of engines, to its page. */
  connectApp(port: MessagePortMain): void
  /** Serves the contract of this engine. Returns null if no engine has this id. */
  findConnect(id: string): ((port: MessagePortMain) => void) | null
  stop(): Promise<void>
}

const REVOKE_MAX_MS = 5_000
const NEVER = new AbortController().signal

/** Opens the engines that this desktop shows in addition to its own: their list, connections and states. */
export function openRemoteEngines(options: RemoteEnginesOptions): RemoteEngines {
  const { path, secretBox, appVersion, logger } = options
  const engines = new Map<string, OpenEngine>()
  const changed = new EventPublisher<{ changed: null }>()
  const publish = () => changed.publish('changed', null)
  mkdirSync(options.statesDirectory, { recursive: true, mode: 0o700 })
  const parts = { ...options, publish }
  const signIns = new BrowserSignIns(options)
  for (const stored of openEngineFile(path, logger)) engines.set(stored.id, new OpenEngine(stored, parts))
  const list = () => ({ appVersion, engines: [...engines.values()].map((engine) => engine.describe()) })
  // Writes one change at a time, so that the file has the newest list.
  let writing = Promise.resolve()
  const save = () =>
    (writing = writing.then(() =>
      writeEngineFile(
        path,
        [...engines.values()].map(({ stored }) => stored)
      )
    ))

  const find = (id: string): OpenEngine => {
    const engine = engines.get(id)
    if (engine !== undefined) return engine
    throw new ScrapdeckError('NOT_FOUND', sentence('desktop.no_engine', { id }))
  }

  /** Returns the certificate that the user chose to trust, if the engine still presents it. */
  async function pinOf(address: Pick<RemoteAddress, 'name' | 'url'>, trusted: string | null) {
    if (trusted === null || !splitAddress(address.url).inner.startsWith('https:')) return null
    const connection = connectRemote({ ...address, credentials: null, certificate: null }, parts)
    // If the certificate has changed since the user trusted it, connecting reports this.
    const seen = await connection.readCertificate().catch(() => null)
    await connection.close()
    return seen?.fingerprint === trusted ? { pem: seen.pem, fingerprint: seen.fingerprint } : null
  }

  /** Connects without credentials, because the sign-in has not provided them yet. */
  async function connectToSignIn({ name, url: given }: Pick<EngineSettings, 'name' | 'url'>, trusted: string | null) {
    const to = { name, url: withoutSlash(given) }
    const certificate = await pinOf(to, trusted)
    return { to, connection: connectRemote({ ...to, credentials: null, certificate }, parts) }
  }

  /** Resolves after the engine has responded with these settings. Stores nothing before that. */
  async function connectFirst(settings: EngineSettings, entered: EnteredCredentials, trusted: string | null) {
    const { name } = settings
    const url = withoutSlash(settings.url)
    const certificate = await pinOf({ name, url }, trusted)
    const signedIn = entered.kind === 'browser' ? signIns.redeem(entered.ticket, url) : null
    const credentials: EngineCredentials =
      entered.kind === 'browser' ? { kind: 'token', token: signedIn!.token } : entered
    const connection = connectRemote({ name, url, credentials, certificate }, parts)
    try {
      await connection.client.users.me({}, { signal: AbortSignal.timeout(CHECK_MAX_MS) })
    } catch (error) {
      throw await connection.explain(error)
    } finally {
      await connection.close()
    }
    const sealed = await secretBox.seal(JSON.stringify(credentials))
    const username = entered.kind === 'password' ? entered.username : (signedIn?.userName ?? null)
    return { url, certificate, sealed, signsInWith: entered.kind, username }
  }

  /**
   * Revokes the token of an unused sign-in. If the engine cannot be reached, the token remains valid until it expires.
   */
  async function revoke(address: RemoteAddress): Promise<void> {
    const connection = connectRemote(address, parts)
    const signal = AbortSignal.timeout(REVOKE_MAX_MS)
    try {
      const { tokenId } = await connection.client.users.me({}, { signal })
      if (tokenId !== null) await connection.client.tokens.revoke({ id: tokenId }, { signal })
    } catch (error) {
      logger.warn({ err: error }, `The token of ${address.name} was not revoked`)
    } finally {
      await connection.close()
    }
  }

  const app = implement(desktopContract)
  const router = app.router({
    engines: {
      watch: app.engines.watch.handler(async function* ({ signal }) {
        // Subscribe before the first list, so that no change is missed.
        const changes = changed.subscribe('changed', { ...(signal && { signal }), maxBufferedEvents: 1 })
        yield list()
        try {
          for await (const _ of changes) yield list()
        } catch (error) {
          if (signal?.aborted !== true) throw error
        }
      }),
      signIn: app.engines.signIn.handler(async ({ input: { trusted, ...given }, signal = NEVER }) => {
        const { to, connection } = await connectToSignIn(given, trusted)
        try {
          return await signIns.begin(to, connection, signal)
        } finally {
          await connection.close()
        }
      }),
      signInWithCode: app.engines.signInWithCode.handler(async function* ({
        input: { trusted, ...given },
        signal = NEVER
      }) {
        const { to, connection } = await connectToSignIn(given, trusted)
        try {
          yield* signIns.beginWithCode(to, connection, signal)
        } finally {
          await connection.close()
        }
      }),
      add: app.engines.add.handler(async ({ input: { credentials, trusted, ...settings } }) => {
        const connected = await connectFirst(settings, credentials, trusted)
        const stored: StoredEngine = { ...settings, ...connected, id: randomUUID() }
        engines.set(stored.id, new OpenEngine(stored, parts))
        await save()
        publish()
        return find(stored.id).describe()
      }),
      update: app.engines.update.handler(async ({ input: { id, credentials: entered, trusted, ...settings } }) => {
        const engine = find(id)
        const { stored } = engine
        const url = withoutSlash(settings.url)
        if (url !== stored.url && entered === null) {
          throw new ScrapdeckError(
            'BAD_INPUT',
            sentence('desktop.credentials_for_another_address', { url: stored.url, newUrl: url })
          )
        }
        // A new name or colour needs no connection. After a rejected certificate, connect to show it to the user again.
        const mustConnect =
          trusted !== null || engine.describe().problem?.code.startsWith('ENGINE_CERTIFICATE') === true
        const credentials = entered ?? (mustConnect ? await engine.openCredentials() : null)
        const earlier = entered === null ? null : engine.ownToken()
        const pinned = url === stored.url ? (stored.certificate?.fingerprint ?? null) : null
        const connected =
          credentials === null ? {} : await connectFirst({ ...settings, url }, credentials, trusted ?? pinned)
        // The stored credentials have not changed, so keep the record of how the user obtained them.
        if (entered === null && 'sealed' in connected) {
          Object.assign(connected, { signsInWith: stored.signsInWith, username: stored.username })
        }
        if (earlier !== null) await revoke(await earlier)
        await engine.replace({ ...stored, ...settings, url, ...connected })
        await save()
        publish()
        return engine.describe()
      }),
      remove: app.engines.remove.handler(async ({ input: { id } }) => {
        const engine = find(id)
        engines.delete(id)
        const token = engine.ownToken()
        if (token !== null) await revoke(await token)
        await engine.stop()
        await engine.forget()
        await save()
        publish()
        return {}
      }),
      retry: app.engines.retry.handler(({ input: { id } }) => {
        find(id).retryNow()
        return {}
      }),
      openUi: app.engines.openUi.handler(({ input: { id } }) => {
        const { name, url } = find(id).stored
        if (splitAddress(url).ssh !== null) {
          throw new ScrapdeckError('BAD_INPUT', sentence('desktop.engine_behind_ssh', { name }))
        }
        options.openInBrowser(`${url}/ui/`)
        return {}
      })
    }
  })
  const serve = (handled: AnyRouter) => {
    const handler = new RPCHandler(handled, {
      clientInterceptors: [
        createWireErrorInterceptor((error) => logger.error({ err: error }, 'A call for a remote engine failed')),
        refuseBadTrees
      ]
    })
    return (port: MessagePortMain) => {
      handler.upgrade(port, { context: {} })
      port.start()
    }
  }
  return {
    connectApp: serve(router),
    findConnect: (id) => {
      const engine = engines.get(id)
      return engine === undefined ? null : serve(engine.router)
    },
    async stop() {
      await Promise.all([...engines.values()].map((engine) => engine.stop()))
      await options.tunnels.stop()
      await writing
    }
  }
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '')
