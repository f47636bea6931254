import { FRAME_RAW_BYTES } from '../../logs/archive/frames.ts'
import { type LogFile, openLogFile, type OpenLog, readBytes } from '../../logs/scan/log-file.ts'
import type { IndexedLogBlocks } from '../../../model/records.ts'
import { FilterBuilder } from './block-filter.ts'
import { BlockWriter } from './index-files.ts'

/** The block that collects small logs and ends of logs, up to about the size of a frame. */
export interface OpenBlock {
  filter: Uint8Array
  bytes: number
}

export interface IndexOrder {
  directory: string
  nextBlock: number
  openBlock: OpenBlock | null
  /** `isTailOnly`: whether the log's whole frames are already in the index. */
  logs: { file: LogFile; isTailOnly: boolean }[]
}

export interface IndexResult {
  /** The blocks of each log, except whole blocks that were already in the index. Null: the log could not be read. */
  logs: (IndexedLogBlocks | null)[]
  nextBlock: number
  openBlock: OpenBlock | null
  /** The number of the open block if this call closed the block. Null: the block is still open. */
  closedBlock: number | null
}

const NEWLINE = 0x0a

const MAX_OPEN_BYTES = 1.5 * FRAME_RAW_BYTES

/** One pair per thread. Allocating the memory of a builder costs more than indexing a small log. */
let builders: { whole: FilterBuilder; open: FilterBuilder } | null = null

/**
 * A block contains the lines that start in its frame, including their ends in the next frame. It therefore contains
 * whole matches.
 */
export async function indexLogs(order: IndexOrder, isStopped: () => boolean): Promise<IndexResult> {
  const writer = new BlockWriter(order.directory)
  builders ??= { whole: new FilterBuilder(), open: new FilterBuilder() }
  const { whole, open } = builders
  for (const each of [whole, open]) each.clear()
  let openBytes = order.openBlock?.bytes ?? 0
  if (order.openBlock !== null) open.load(order.openBlock.filter)
  let { nextBlock } = order
  let closedBlock: number | null = null
  const logs: (IndexedLogBlocks | null)[] = []
  try {
    for (const { file, isTailOnly } of order.logs) {
      if (isStopped()) break
      // A search also skips a missing or damaged file.
      logs.push(await indexLog(file, isTailOnly).catch(dropLog))
    }
    writer.sync()
  } finally {
    writer.close()
  }
  return { logs, nextBlock, openBlock: openBytes > 0 ? { filter: open.take(), bytes: openBytes } : null, closedBlock }

  /** The bits of the failed log do no harm, but the next log must not continue the last line of the failed log. */
  function dropLog(): null {
    for (const each of [whole, open]) each.end()
    return null
  }

  async function indexLog(file: LogFile, isTailOnly: boolean): Promise<IndexedLogBlocks> {
    const log = await openLogFile(file)
    try {
      const tailAt = log.sizeBytes - (log.sizeBytes % FRAME_RAW_BYTES)
      const firstBlock = tailAt > 0 && !isTailOnly ? nextBlock : null
      const endsInLine = firstBlock === null ? null : addWhole(log, tailAt)
      const wholeBlocks = firstBlock === null ? 0 : tailAt / FRAME_RAW_BYTES
      const blocks = { rawBytes: log.sizeBytes, firstBlock, wholeBlocks }
      if (tailAt === log.sizeBytes) return { ...blocks, tailBlock: null }
      if (openBytes > 0 && openBytes + log.sizeBytes - tailAt > MAX_OPEN_BYTES) closeOpenBlock()
      let isInLine = endsInLine ?? (tailAt > 0 && readBytes(log, tailAt - 1, tailAt)[0] !== NEWLINE)
      for (const { bytes } of log.blocks(tailAt, log.sizeBytes)) {
        const newlineAt: number = isInLine ? bytes.indexOf(NEWLINE) : -1
        if (!isInLine || newlineAt >= 0) open.add(bytes.subarray(newlineAt + 1))
        isInLine = isInLine && newlineAt < 0
      }
      open.end()
      openBytes += log.sizeBytes - tailAt
      return { ...blocks, tailBlock: 'open' }
    } finally {
      log.close()
    }
  }

  /** Adds whole frames. A frame without a line start gets an empty block. Returns whether the last line continues. */
  function addWhole(log: OpenLog, tailAt: number): boolean {
    let owner = 0
    let isInLine = false
    let endsInLine = false
    const closeUntil = (end: number) => {
      for (; owner < end; owner += FRAME_RAW_BYTES) writer.write(nextBlock++, whole.take())
    }
    for (const { offset, bytes } of log.blocks(0, log.sizeBytes)) {
      if (offset >= tailAt && !isInLine) break
      const newlineAt: number = isInLine ? bytes.indexOf(NEWLINE) : -1
      const rest = !isInLine ? 0 : newlineAt < 0 ? bytes.length : newlineAt + 1
      if (rest > 0) whole.add(bytes.subarray(0, rest))
      isInLine = isInLine && newlineAt < 0
      if (rest < bytes.length && offset < tailAt) {
        closeUntil(offset - (offset % FRAME_RAW_BYTES))
        whole.add(bytes.subarray(rest))
        isInLine = bytes.at(-1) !== NEWLINE
      }
      if (offset < tailAt) endsInLine = isInLine
    }
    closeUntil(tailAt)
    return endsInLine
  }

  function closeOpenBlock(): void {
    const block = nextBlock++
    writer.write(block, open.take())
    for (const each of logs) if (each?.tailBlock === 'open') each.tailBlock = block
    if (order.openBlock !== null && closedBlock === null) closedBlock = block
    openBytes = 0
  }
}
