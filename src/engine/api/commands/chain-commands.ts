import type { Chain, ChainId, ChainSettings } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { written } from '../../../shared/texts/message.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { StoredChain } from '../../model/records.ts'
import type { ChainStore } from '../../storage/store.ts'
import { sealTemplate } from './template-secrets.ts'

export interface ChainCommandsParts {
  store: ChainStore
  secretBox: Pick<SecretBox, 'seal'>
  clock: Clock
  random: Random
  checkTemplate: (template: ChainSettings['run'], name: string) => Promise<ChainSettings['run']>
  onChange: () => Promise<void>
}

/** A chain can name a spider that is not deployed yet. */
export class ChainCommands {
  readonly #parts: ChainCommandsParts

  constructor(parts: ChainCommandsParts) {
    this.#parts = parts
  }

  async list(): Promise<Chain[]> {
    return (await this.#parts.store.listChains()).map(describeChain)
  }

  async create(settings: ChainSettings): Promise<Chain> {
    const { random, clock } = this.#parts
    return this.#put(random.hex(16) as ChainId, settings, null, clock.nowMs())
  }

  /** Keeps the stored values of masked secrets. Rejects with CHAIN_NOT_FOUND. */
  async update(id: ChainId, settings: ChainSettings): Promise<Chain> {
    const before = await this.#find(id)
    if (before === undefined) throw noChain(id)
    return this.#put(id, settings, before, before.createdAtMs)
  }

  async remove(id: ChainId): Promise<boolean> {
    const removed = await this.#parts.store.deleteChain(id)
    if (removed) await this.#parts.onChange()
    return removed
  }

  async #put(id: ChainId, settings: ChainSettings, before: StoredChain | null, createdAtMs: number): Promise<Chain> {
    const { store, secretBox, checkTemplate, onChange } = this.#parts
    const { name, enabled, project, spider, on } = settings
    const allowed = await checkTemplate(settings.run, name)
    // A user with rights only in another project must not get this project's secrets.
    const kept = before?.settings.run.project === settings.run.project ? before.settings.run : null
    const run = await sealTemplate(allowed, kept, secretBox)
    await store.putChain({ id, settings: { name, enabled, project, spider, on, run }, createdAtMs })
    await onChange()
    const stored = await this.#find(id)
    if (stored === undefined)
      throw new ScrapdeckError('CHAIN_NOT_FOUND', sentence('api.chain_removed_meanwhile', { id }))
    return describeChain(stored)
  }

  async #find(id: ChainId): Promise<StoredChain | undefined> {
    return (await this.#parts.store.listChains()).find((chain) => chain.id === id)
  }
}

function describeChain({ id, settings, firedCount, lastFiredAtMs, problem }: StoredChain): Chain {
  const described = { ...settings, run: maskSecrets(settings.run), id, firedCount, lastFiredAtMs }
  if (problem === null) return { ...described, problem }
  const { text, code, params } = written(problem)
  return { ...described, problem: text, problemCode: code, problemParams: params }
}

export const noChain = (id: ChainId): ScrapdeckError =>
  new ScrapdeckError('CHAIN_NOT_FOUND', sentence('api.no_chain', { id }))
