import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const LISTENING = '0A'

/** Returns the resident memory in MiB of the local process that listens on a port. null: there is none. Linux only. */
export function memoryOfListener(port: number): number | null {
  const inode = inodeOfListener(port)
  const pid = inode === null ? null : ownerOf(inode)
  const rss = pid === null ? null : /^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))
  return rss === null ? null : Math.round(Number(rss[1]) / 1024)
}

function inodeOfListener(port: number): string | null {
  const wanted = port.toString(16).toUpperCase().padStart(4, '0')
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of read(table).split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      if (fields[3] === LISTENING && fields[1]?.endsWith(`:${wanted}`) === true) return fields[9] ?? null
    }
  }
  return null
}

function ownerOf(inode: string): string | null {
  const holds = (pid: string) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`)
    } catch {
      return false
    }
  }
  return readdirSync('/proc').find((name) => /^\d+$/.test(name) && holds(name)) ?? null
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // This is not Linux, or the process has ended.
    return ''
  }
}
