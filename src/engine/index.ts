import type { HostedNode } from './nodes/peers/hosted-node.ts'
import type { JoinOptions, Membership } from './cluster/leadership/join-engines.ts'
import type { Engine, EngineOptions } from './assembly/engine-options.ts'
import { startStoreThread } from './storage/thread/store-thread.ts'

export type { Engine, EngineOptions } from './assembly/engine-options.ts'
export type { HostedNode } from './nodes/peers/hosted-node.ts'
export type { NoPasskeySite, PasskeyAnswer, PasskeySite } from './access/second-factor/webauthn.ts'
export type { SecretForApp } from './access/second-factor/codes.ts'
export type { Membership, Mandate } from './cluster/leadership/join-engines.ts'
export type { EngineCertificate } from './cluster/leadership/leadership.ts'
export { startStoreThread } from './storage/thread/store-thread.ts'

/**
 * The engine's only entry point: opens the data directory and the wings (see assembly/), and starts to work. Rejects
 * with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE, DATA_FROM_NEWER_VERSION or DATA_TOO_OLD, having changed
 * nothing, or with PYTHON_MISSING. If it rejects, everything that was opened is closed again.
 */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { store, clock } = options.seams ?? {}
  const start = () => options.storeThread ?? startStoreThread()
  // The store thread loads SQLite while this thread loads the wings. Each takes about half of the startup time.
  const storeThread = store === undefined && clock === undefined ? start() : null
  const { openEngine } = await import('./assembly/open-engine.ts')
  return openEngine(options, storeThread)
}

export async function preloadEngine(): Promise<void> {
  await import('./assembly/open-engine.ts')
}

/**
 * Joins the engines on one PostgreSQL database. Only the leader has an Engine. Rejects with DATABASE_UNUSABLE,
 * DATA_FROM_NEWER_VERSION, DATA_TOO_OLD, DATA_DIRECTORY_UNUSABLE or ENGINES_DIFFER.
 */
export async function joinEngines(options: JoinOptions): Promise<Membership> {
  const { join } = await import('./cluster/leadership/join-engines.ts')
  return join(options)
}

/**
 * Opens the local node of one engine of a cluster. It runs regardless of which engine leads. null: `localSlots` is 0.
 * Rejects with DATA_DIRECTORY_UNUSABLE or PYTHON_MISSING.
 */
export async function openHostedNode(options: EngineOptions): Promise<HostedNode | null> {
  const { openHosted } = await import('./nodes/peers/open-hosted-node.ts')
  return openHosted(options)
}
