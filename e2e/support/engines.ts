import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { type Service, startService } from './service.ts'

export interface SharedEngines {
  engines: Service[]
  stop(): Promise<void>
}

export async function startSharedEngines(names: string[], { localSlots = 0 } = {}): Promise<SharedEngines> {
  const database = await startPostgres()
  const root = mkdtempSync(join(tmpdir(), 'scrapdeck-shared-engines-'))
  const engines: Service[] = []
  for (const name of names) {
    const dataDirectory = join(root, name)
    mkdirSync(dataDirectory)
    // All engines need the same encryption key.
    if (engines.length > 0) cpSync(join(root, names[0]!, 'secret.key'), join(dataDirectory, 'secret.key'))
    const environment = { SCRAPDECK_ENGINE_NAME: name }
    engines.push(await startService({ dataDirectory, localSlots, arguments: [`--store=${database.url}`], environment }))
  }
  return {
    engines,
    async stop() {
      await Promise.all(engines.map((engine) => engine.stop()))
      await database.stop()
      rmSync(root, { recursive: true, force: true })
    }
  }
}

/** Waits until `asked` names one of these engines as the leader, and resolves to its name. */
export async function leaderAmong(names: string[], asked: Service): Promise<string> {
  const list = async () => (await asked.client.engines.list().catch(() => null))?.engines ?? []
  const isLeader = ({ name, state }: { name: string; state: string }) => state === 'leading' && names.includes(name)
  const engines = await until('one of them to lead', list, (all) => all.some(isLeader), 20_000)
  return engines.find(isLeader)!.name
}
