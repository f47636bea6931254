import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks per second in /proc: 100 on every Linux. */
const TICKS_PER_S = 100

interface Process {
  pid: number
  parent: number
  name: string
  cpuMs: number
}

/**
 * Returns the CPU time in ms of this process's descendants, summed by the names that `nameOf` gives them. Linux only.
 */
export function readCpu(nameOf: (process: { pid: number; name: string }) => string): Map<string, number> {
  const all = readProcesses()
  const children = Map.groupBy(all, ({ parent }) => parent)
  const sums = new Map<string, number>()
  const below = [...(children.get(process.pid) ?? [])]
  for (let one = below.pop(); one !== undefined; one = below.pop()) {
    below.push(...(children.get(one.pid) ?? []))
    const name = nameOf(one)
    sums.set(name, (sums.get(name) ?? 0) + one.cpuMs)
  }
  return sums
}

export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

/** Returns the CPU time in ms of a process's main thread (its event loop). */
export const readMainThread = (pid: number): number => readStat(`/proc/${pid}/task/${pid}/stat`)?.cpuMs ?? 0

function readProcesses(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => readStat(`/proc/${pid}/stat`) ?? [])
}

function readStat(path: string): Process | null {
  let text: string
  try {
    text = readFileSync(path, 'latin1')
  } catch {
    return null
  }
  // The name of the process is in parentheses and can contain any characters.
  const end = text.lastIndexOf(')')
  const [, parent, ...fields] = text.slice(end + 2).split(' ')
  const [user, system] = [Number(fields[9]), Number(fields[10])]
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(parent),
    name: text.slice(text.indexOf('(') + 1, end),
    cpuMs: ((user + system) / TICKS_PER_S) * 1_000
  }
}

/** Returns the busy time in ms of all cores of this machine, for all programs. Linux only. */
export function readBusyMs(): number {
  const [, ...fields] = readFileSync('/proc/stat', 'latin1').split('\n', 1)[0]!.split(/\s+/)
  const [user, nice, system, _idle, _waiting, ...interrupts] = fields.slice(0, 8).map(Number)
  const ticks = user! + nice! + system! + interrupts.reduce((sum, one) => sum + one, 0)
  return (ticks / TICKS_PER_S) * 1_000
}

const IS_FULL = 0.85
const IS_LOADED = 0.2

/**
 * Returns what limits the throughput. `loops`: the share of a core that each event loop used. `used`: the number of
 * cores that these processes used. `busy`: the number of busy cores of the machine.
 */
export function whatBounds({
  loops,
  used,
  busy,
  cores
}: {
  loops: Readonly<Record<string, number>>
  used: number
  busy: number
  cores: number
}): string {
  const [name, share] = Object.entries(loops).toSorted(([, one], [, other]) => other - one)[0] ?? ['', 0]
  const others = busy - used
  const loaded = others >= IS_LOADED ? `; loaded machine: other programs used ${others.toFixed(2)} cores` : ''
  if (share >= IS_FULL) return `the event loop of ${name} (${share.toFixed(2)} of a core)${loaded}`
  if (busy >= cores * IS_FULL) return `the ${cores} cores (${used.toFixed(2)} used here)${loaded}`
  return `waiting: no event loop and not all cores are busy (${used.toFixed(2)} used here)${loaded}`
}
