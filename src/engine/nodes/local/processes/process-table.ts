import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'

export interface ProcessRow {
  pid: number
  parentPid: number
  groupId: number
  /** 0: the system does not report it. */
  sessionId: number
  /** Distinguishes processes that reuse a pid. '' if the system does not report it. */
  startTime: string
  memoryBytes: number
  /** CPU time of the process itself, without its children. */
  cpuSeconds: number
  childrenCpuSeconds: number
}

export interface ProcessTable {
  /** Reads all wanted processes in one pass, and all recent ones if `mayBeNew` is set. The result can contain more. */
  read(isWanted: (pid: number) => boolean, mayBeNew: boolean): Promise<ProcessRow[]>
}

/** null: not supported on this system (Windows). */
export async function openProcessTable(platform: NodeJS.Platform = process.platform): Promise<ProcessTable | null> {
  if (platform === 'linux') return ProcTable.open()
  return platform === 'darwin' ? { read: async () => parsePs(await runPs()) } : null
}

/** The number of passes from one full read to the next. Full reads find reused pids. */
const WHOLE_EVERY = 30
/** The engine learns of a run within this many passes after the run's first process started. */
const LATELY_PASSES = 5

/** Reads proc(5). A pass costs one readdir plus the reads of the wanted processes. */
class ProcTable implements ProcessTable {
  readonly #units: ProcUnits
  #known = new Map<number, number>()
  #pass = 0

  private constructor(units: ProcUnits) {
    this.#units = units
  }

  static async open(): Promise<ProcTable> {
    return new ProcTable(parseAuxiliaryVector(await readFile('/proc/self/auxv').catch(() => Buffer.alloc(0))))
  }

  async read(isWanted: (pid: number) => boolean, mayBeNew: boolean): Promise<ProcessRow[]> {
    const pass = this.#pass
    const isWhole = pass % WHOLE_EVERY === 0
    const newestOld = mayBeNew ? pass - LATELY_PASSES : pass
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
    const asked = pids.filter((pid) => isWhole || isWanted(pid) || (this.#known.get(pid) ?? pass) >= newestOld)
    // Processes in the first pass can be old, so they do not count as recent.
    this.#known = new Map(pids.map((pid) => [pid, this.#known.get(pid) ?? (pass === 0 ? -LATELY_PASSES : pass)]))
    this.#pass += 1
    const texts = await Promise.all(asked.map((pid) => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')))
    return texts.flatMap((text) => parseStat(text, this.#units) ?? [])
  }
}

export interface ProcUnits {
  pageBytes: number
  ticksPerSecond: number
}

const AT_NULL = 0n
const AT_PAGESZ = 6n
const AT_CLKTCK = 17n

/** Parses /proc/self/auxv of a 64-bit system (getauxval(3)), which has the units used in /proc as pairs of words. */
export function parseAuxiliaryVector(bytes: Buffer): ProcUnits {
  const units: ProcUnits = { pageBytes: 4096, ticksPerSecond: 100 }
  for (let at = 0; at + 16 <= bytes.length; at += 16) {
    const key = bytes.readBigUInt64LE(at)
    const value = Number(bytes.readBigUInt64LE(at + 8))
    if (key === AT_NULL) break
    if (key === AT_PAGESZ) units.pageBytes = value
    if (key === AT_CLKTCK) units.ticksPerSecond = value
  }
  return units
}

/** Parses /proc/PID/stat. null: the process has ended or is a zombie, which uses nothing. */
export function parseStat(text: string, { pageBytes, ticksPerSecond }: ProcUnits): ProcessRow | null {
  // The second field, the command in parentheses, can contain spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parentPid, groupId, sessionId] = fields
  const pid = Number.parseInt(text, 10)
  if (!(pid > 0) || fields.length < 22 || state === 'Z' || state === 'X') return null
  const ticks = (field: number) => Math.max(0, Number(fields[field]))
  return {
    pid,
    parentPid: Number(parentPid),
    groupId: Number(groupId),
    sessionId: Number(sessionId),
    startTime: fields[19]!,
    memoryBytes: Number(fields[21]) * pageBytes,
    cpuSeconds: (ticks(11) + ticks(12)) / ticksPerSecond,
    childrenCpuSeconds: (ticks(13) + ticks(14)) / ticksPerSecond
  }
}

function runPs(): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = ['-A', '-o', 'pid=,ppid=,pgid=,stat=,rss=,time=']
    execFile('/bin/ps', args, { env: { LC_ALL: 'C' }, maxBuffer: 16 * 1024 * 1024 }, (error, text) =>
      error ? reject(error) : resolve(text)
    )
  })
}

/** Parses `ps -A -o pid=,ppid=,pgid=,stat=,rss=,time=`: memory in KB, time as `[[days-]hours:]minutes:seconds`. */
export function parsePs(text: string): ProcessRow[] {
  return text.split('\n').flatMap((line) => {
    const [pid, parentPid, groupId, state, kilobytes, time] = line.trim().split(/\s+/)
    if (time === undefined || state!.startsWith('Z')) return []
    const [days, clock] = time.includes('-') ? (time.split('-') as [string, string]) : ['0', time]
    const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
    return {
      pid: Number(pid),
      parentPid: Number(parentPid),
      groupId: Number(groupId),
      sessionId: 0,
      startTime: '',
      memoryBytes: Number(kilobytes) * 1024,
      cpuSeconds: Number(days) * 86_400 + seconds,
      childrenCpuSeconds: 0
    }
  })
}
