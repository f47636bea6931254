import { hostname } from 'node:os'
import type { Worker } from 'node:worker_threads'
import { Access } from '../../access/access.ts'
import { SecondFactors } from '../../access/second-factor/second-factors.ts'
import { SignIns } from '../../access/sign-ins.ts'
import { Audit } from '../../audit/audit.ts'
import { SyslogStream } from '../../audit/syslog.ts'
import { checkConfiguredSources } from '../../nodes/discovery/discovery.ts'
import { Plugins } from '../../plugins/plugins.ts'
import { systemClock } from '../../runtime/clock.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { parseNetworks } from '../../webhooks/addresses.ts'
import { type Base, stop } from '../base.ts'
import type { EngineOptions } from '../engine-options.ts'
import { openData } from '../open-data.ts'
import { wireCache } from '../wire-cache.ts'

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
