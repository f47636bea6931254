import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { openSqliteStore } from '../../src/engine/storage/sqlite/open-sqlite-store.ts'
import { aStoredNode } from '../../src/engine/testing/builders.ts'

/** Adds nodes to the data of a stopped engine, because adding thousands through it would take too long. */
export async function seedNodes(dataDirectory: string, urls: string[], options: { slots: number }): Promise<void> {
  await mkdir(dataDirectory, { recursive: true })
  const store = await openSqliteStore({
    path: join(dataDirectory, 'scrapdeck.sqlite'),
    clock: systemClock,
    logger: silentLogger
  })
  const nodes = urls.map((url, index) =>
    aStoredNode({ id: `n-${index}`, name: `sim-${index}`, url, slots: options.slots })
  )
  await Promise.all(nodes.map((node) => store.putNode(node)))
  await store.close()
}
