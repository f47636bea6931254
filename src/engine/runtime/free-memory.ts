import { readFile } from 'node:fs/promises'
import { freemem, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

/** The memory that this process and its children can still use, and the total memory, in bytes. */
export interface FreeMemory {
  freeBytes: number
  totalBytes: number
}

/**
 * Free memory of the machine, or of the control group that limits this process (a container, a systemd slice), if that
 * is less. Files that the kernel can drop from its cache count as free.
 */
export async function readFreeMemory(root = '/'): Promise<FreeMemory> {
  const machine = { freeBytes: freemem(), totalBytes: totalmem() }
  if (process.platform !== 'linux') return machine
  const own = /^0::(\/.*)$/m.exec(await readText(join(root, 'proc/self/cgroup')))?.[1]
  // libuv supports version 1 control groups, but counts cached files as used.
  if (own === undefined) return { ...machine, freeBytes: Math.min(machine.freeBytes, process.availableMemory()) }
  const groups = await Promise.all(withAncestors(own).map((group) => readGroup(join(root, 'sys/fs/cgroup', group))))
  const all = [machine, ...groups.filter((group) => group !== null)]
  return {
    freeBytes: Math.min(...all.map(({ freeBytes }) => freeBytes)),
    totalBytes: Math.min(...all.map(({ totalBytes }) => totalBytes))
  }
}

/** null: the control group has no limit. */
async function readGroup(directory: string): Promise<FreeMemory | null> {
  const [max, current, stat] = await Promise.all(
    ['memory.max', 'memory.current', 'memory.stat'].map((name) => readText(join(directory, name)))
  )
  const totalBytes = Number.parseInt(max!, 10)
  if (Number.isNaN(totalBytes)) return null
  const cachedBytes = Number(/^inactive_file (\d+)$/m.exec(stat!)?.[1] ?? 0)
  return { freeBytes: Math.max(0, totalBytes - Number(current) + cachedBytes), totalBytes }
}

function withAncestors(group: string): string[] {
  return group === '/' ? [group] : [group, ...withAncestors(dirname(group))]
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
