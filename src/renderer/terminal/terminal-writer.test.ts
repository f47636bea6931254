import { describe, expect, it } from 'vitest'
import { TerminalWriter } from './terminal-writer.ts'

function slowSink() {
  const parsed: Array<() => void> = []
  return { parsed, sink: { write: (_text: string, done: () => void) => void parsed.push(done) } }
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  await new Promise((resolve) => setTimeout(resolve, 0))
  return settled
}

describe('TerminalWriter', () => {
  it('lets small writes through immediately', async () => {
    const { sink } = slowSink()
    expect(await isSettled(new TerminalWriter(sink).write('x'.repeat(1000)))).toBe(true)
  })

  it('blocks the reader above 100,000 unparsed characters and releases it below 5,000', async () => {
    const { parsed, sink } = slowSink()
    const writer = new TerminalWriter(sink)
    await writer.write('x'.repeat(60_000))
    const second = writer.write('x'.repeat(60_000))
    const third = writer.write('x'.repeat(4_000))
    expect(await isSettled(second)).toBe(false)
    parsed[0]?.()
    expect(await isSettled(second)).toBe(false)
    parsed[1]?.()
    expect(writer.unparsedChars).toBe(4_000)
    expect(await isSettled(second)).toBe(true)
    expect(await isSettled(third)).toBe(true)
  })

  it('releases the reader when the terminal is closed', async () => {
    const { sink } = slowSink()
    const writer = new TerminalWriter(sink)
    const held = writer.write('x'.repeat(200_000))
    writer.close()
    expect(await isSettled(held)).toBe(true)
  })
})
