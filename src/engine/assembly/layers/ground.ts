import { hostname } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { Access } from '../../access/access.ts'
import { SecondFactors } from '../../access/second-factor/second-factors.ts'
import { SignIns } from '../../access/sign-ins.ts'
import { Audit } from '../../access/audit/audit.ts'
import { SyslogStream } from '../../access/audit/syslog.ts'
import { checkConfiguredSources } from '../../nodes/discovery/discovery.ts'
import { Plugins } from '../../notify/plugins/plugins.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { parseNetworks } from '../../notify/webhooks/addresses.ts'
import { type Base, stop } from '../../runtime/tools.ts'
import type { EngineOptions } from '../engine-options.ts'
import { openData } from '../../storage/open-storage.ts'
import type { AnswersOrigin, RedisCache } from '../../cluster/cache/redis/redis-cache.ts'
import type { SharedAnswers } from '../../cluster/cache/shared-answers.ts'
import { askSharedStore, followOwnStore, type StorePosition } from '../../cluster/cache/store-position.ts'
import type { Store } from '../../storage/store.ts'

export type Ground = Awaited<ReturnType<typeof openGround>>

/** Clock, randomness, plugins, and the data directory. */
export async function openGround(options: EngineOptions, storeThread: Worker | null, opened: AsyncDisposableStack) {
  const { seams = {}, logger = silentLogger } = options
  const { clock = systemClock, random = systemRandom } = seams
  checkConfiguredSources(options.discovery ?? [])
  const webhookNetworks = parseNetworks(options.webhookNetworks ?? '')
  const plugins = opened.adopt(await Plugins.open(options.plugins ?? [], { clock, logger }), stop)
  const data = await openData(options, { clock, random, logger, pluginBlobs: plugins.blobs, storeThread }, opened)
  const { store, secretBox } = data
  const base: Base = { store, clock, random, logger, secretBox }
  const cacheRoom = await wireCache(options, base, data.credentials)
  opened.adopt(cacheRoom.cache, (cache) => cache?.stop())
  const access = opened.adopt(await Access.open({ ...base, ownerName: data.credentials.username }), stop)
  const secondFactors = await SecondFactors.open({ ...base, access })
  const audit = opened.adopt(new Audit({ ...base, tokenName: (id) => access.tokenName(id) }), stop)
  const syslog = options.audit?.syslog ?? null
  const auditStream = syslog === null ? null : new SyslogStream({ ...base, address: syslog, hostName: hostname() })
  opened.adopt(auditStream, (stream) => stream?.stop())
  return {
    ...data,
    access,
    secondFactors,
    signIns: new SignIns({ access, clock }),
    audit,
    auditStream,
    ...cacheRoom,
    base,
    plugins,
    webhookNetworks,
    startedAtMs: clock.nowMs()
  }
}

interface CacheRoom {
  position: StorePosition
  /** null: a single engine, which keeps in memory what it would share. */
  cache: RedisCache | null
  sharedAnswers: SharedAnswers | null
}

/** The cache that several engines share, if one is configured. Not waited for: nothing depends on it. */
async function wireCache(
  options: EngineOptions,
  { store, clock, logger, random }: Base,
  credentials: { username: string; password: string }
): Promise<CacheRoom> {
  // Other engines may write to a shared database; only this one writes to its own file.
  const position = (options.postgres ?? null) === null ? followOwnStore(store) : askSharedStore(store)
  if ((options.cache ?? null) === null) return { position, cache: null, sharedAnswers: null }
  const [{ openRedisCache }, { SharedAnswers: Answers }] = await Promise.all([
    import('../../cluster/cache/redis/redis-cache.ts'),
    import('../../cluster/cache/shared-answers.ts'),
    position.catchUp()
  ])
  const newIdentity = () => Math.floor(random.next() * 2 ** 32)
  const cache = await openRedisCache({
    ...options.cache!,
    credentials,
    clock,
    logger,
    origin: originOf(store, newIdentity)
  })
  return { position, cache, sharedAnswers: new Answers({ cache, position }) }
}

function originOf(store: Store, newIdentity: () => number): AnswersOrigin {
  async function renewIdentity(): Promise<string> {
    const identity = newIdentity()
    await store.putSetting('cache.identity', identity)
    return String(identity)
  }
  return {
    position: () => store.changeCursor(),
    async readIdentity() {
      const kept = await store.getSetting('cache.identity')
      return kept === null ? renewIdentity() : String(kept)
    },
    renewIdentity
  }
}
