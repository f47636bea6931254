import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openProcessTable, parseAuxiliaryVector, parsePs, parseStat } from './process-table.ts'

const UNITS = { pageBytes: 4096, ticksPerSecond: 100 }
/** Recorded on Linux 6.18 from a Python that runs Scrapy. The second command imitates the fields that follow it. */
const STAT =
  '28666 (python) S 28662 28660 28659 0 -1 4194304 101 0 0 0 250 31 12 7 20 0 1 0 1230453 313344000 40960 18446744073709551615 94637167955968 94637167975849 140733297953296 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 94637167991856 94637167993472 94638096695296 140733297961460 140733297961480 140733297961480 140733297962987 0\n'
const ROW = {
  pid: 28666,
  parentPid: 28662,
  groupId: 28660,
  sessionId: 28659,
  startTime: '1230453',
  memoryBytes: 40960 * 4096,
  cpuSeconds: 2.81,
  childrenCpuSeconds: 0.19
}

test('a line of /proc/PID/stat is parsed whatever the command is called', () => {
  expect(parseStat(STAT, UNITS)).toEqual(ROW)
  for (const command of ['a b', ') Z 1 1 1', '(', ') S 1 2 3 4']) {
    expect(parseStat(STAT.replace('python', command), UNITS)).toEqual(ROW)
  }
})

test('a zombie, an ended process and a truncated line are not processes', () => {
  for (const text of [STAT.replace(') S', ') Z'), '', '28666 (python', STAT.slice(0, 60), 'nonsense']) {
    expect(parseStat(text, UNITS)).toBeNull()
  }
})

test('the units are those that the system reports', () => {
  const pairs = [
    [33n, 140_000_000n],
    [6n, 16_384n],
    [17n, 250n],
    [0n, 0n],
    [6n, 1n]
  ]
  const bytes = Buffer.alloc(pairs.length * 16)
  for (const [index, [key, value]] of pairs.entries()) {
    bytes.writeBigUInt64LE(key!, index * 16)
    bytes.writeBigUInt64LE(value!, index * 16 + 8)
  }
  expect(parseAuxiliaryVector(bytes)).toEqual({ pageBytes: 16_384, ticksPerSecond: 250 })
  expect(parseAuxiliaryVector(Buffer.alloc(0))).toEqual(UNITS)
})

test('the output of ps on macOS is parsed, including its three time formats', () => {
  const text = [
    '    1     0     1 Ss    21248   1:05.50',
    ' 4242     1  4242 S+   102400   0:00.04',
    ' 4243  4242  4242 Z         0   0:00.00',
    ' 4244  4242  4242 R      2048 01:02:03',
    ' 4245  4242  4242 R      2048 2-01:02:03',
    ''
  ].join('\n')
  const rows = parsePs(text)
  expect(rows.map(({ pid, cpuSeconds }) => [pid, cpuSeconds])).toEqual([
    [1, 65.5],
    [4242, 0.04],
    [4244, 3723],
    [4245, 2 * 86_400 + 3723]
  ])
  expect(rows[1]).toMatchObject({ parentPid: 1, groupId: 4242, memoryBytes: 102_400 * 1024 })
})

test('the process table is not read on Windows', async () => {
  expect(await openProcessTable('win32')).toBeNull()
})

test.runIf(process.platform === 'linux')(
  'other processes are read once; watched and recent ones are read again, and sometimes all of them',
  async () => {
    const table = (await openProcessTable())!
    const read = async (wanted: number[], mayBeNew = false) =>
      (await table.read((pid) => wanted.includes(pid), mayBeNew)).map(({ pid }) => pid)
    expect(await read([])).toContain(process.pid)
    expect(await read([])).not.toContain(process.pid)
    expect(await read([process.pid])).toContain(process.pid)
    const child = spawn('sleep', ['60'])
    await once(child, 'spawn')
    expect(await read([])).toContain(child.pid)
    expect(await read([])).not.toContain(child.pid)
    // The child is recent, so the read includes it. The test process is not recent.
    const lately = await read([], true)
    expect(lately).toContain(child.pid)
    expect(lately).not.toContain(process.pid)
    for (let pass = 0; pass < 5; pass += 1) await read([])
    expect(await read([], true)).not.toContain(child.pid)
    let wholePasses = 0
    for (let pass = 0; pass < 30; pass += 1) {
      const pids = await read([])
      if (pids.includes(process.pid) && pids.includes(child.pid!)) wholePasses += 1
    }
    expect(wholePasses).toBe(1)
    child.kill()
  }
)
