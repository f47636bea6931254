import type { LogBlock, OpenLog } from './log-file.ts'

const NEWLINE = 0x0a
/** After the last byte, to the end of its line. */
const STEP_BYTES = 65_536

/**
 * The lines that start from byte `from` on and before `to`, whole: so that consecutive parts of a log together have
 * each line once, wherever they are cut.
 */
export function* wholeLines(log: OpenLog, from: number, to: number): Generator<LogBlock> {
  let isInside = from === 0
  let endsAtNewline = true
  for (const { offset, bytes } of log.blocks(isInside ? from : from - 1, to)) {
    const skipped = isInside ? 0 : bytes.indexOf(NEWLINE) + 1
    if (!isInside && skipped === 0) continue
    isInside = true
    endsAtNewline = bytes[bytes.length - 1] === NEWLINE
    if (skipped < bytes.length) yield { offset: offset + skipped, bytes: bytes.subarray(skipped) }
  }
  for (let at = to; isInside && !endsAtNewline && at < log.sizeBytes; at += STEP_BYTES) {
    for (const { offset, bytes } of log.blocks(at, Math.min(at + STEP_BYTES, log.sizeBytes))) {
      const newlineAt = bytes.indexOf(NEWLINE)
      endsAtNewline = newlineAt >= 0
      yield { offset, bytes: endsAtNewline ? bytes.subarray(0, newlineAt + 1) : bytes }
      if (endsAtNewline) return
    }
  }
}
