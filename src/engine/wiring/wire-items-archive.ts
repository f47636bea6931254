import { rm } from 'node:fs/promises'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { ItemsArchive } from '../collecting/items-archive.ts'
import { itemsFileOf } from '../launcher/runs/launch-plan.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { Base } from './base.ts'
import type { EngineOptions } from './engine-options.ts'
import type { LocalLayout } from './wire-local-node.ts'

/** The items files that are kept here. What a run on the local node left is deleted there, unless others look there. */
export function wireItemsArchive(
  { directories }: EngineOptions,
  { base, itemBlobs, layout }: { base: Base; itemBlobs: LogArchivePort; layout: LocalLayout }
): ItemsArchive {
  return new ItemsArchive({
    ...base,
    archive: itemBlobs,
    async deleteLocal(run) {
      const file = run.nodeId === LOCAL_NODE_ID ? itemsFileOf(layout.items, run) : null
      if (file !== null && directories?.items === undefined) await rm(file, { force: true })
    }
  })
}
