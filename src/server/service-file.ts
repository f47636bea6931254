import { lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mayBePlanted } from '../engine/runtime/file-trust.ts'
import { isAlive, readStartTime } from '../engine/runtime/process-identity.ts'

/** `http://127.0.0.1:6800`, or `unix:PATH` if there is no TCP; and the process that listens there. */
interface ServiceFile {
  address: string
  pid: number
  startTime: string
}

const pathIn = (dataDirectory: string) => join(dataDirectory, 'service.json')

/**
 * Records in the data directory where its service listens: the only address to which programs on this machine send the
 * password that is kept beside it. Returns what removes the record.
 */
export async function recordService(dataDirectory: string, address: string): Promise<() => void> {
  const record = { address, pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' }
  const path = pathIn(dataDirectory)
  writeFileSync(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
  return () => rmSync(path, { force: true })
}

/**
 * The address of the service that runs with this data directory; null if none does. After a kill the record remains and
 * anybody may listen there, so it counts only while the process that wrote it lives.
 */
export async function findRunningService(dataDirectory: string): Promise<string | null> {
  try {
    const path = pathIn(dataDirectory)
    // Whoever wrote it chooses where passwords go.
    if (mayBePlanted(statSync(path))) return null
    const record = readRecord(readFileSync(path, 'utf8'))
    const [, socket] = /^unix:(.+)$/.exec(record.address) ?? []
    // Somebody who may write to its directory could have put another socket in its place.
    const isOurs = socket === undefined || lstatSync(socket).uid === statSync(path).uid
    return isOurs && (await isAlive(record)) ? record.address : null
  } catch {
    // Missing, not readable for this user, or damaged: no running service is known.
    return null
  }
}

/** Checked without zod, for which the command line would wait longer than for the service's answer. */
function readRecord(text: string): ServiceFile {
  const { address, pid, startTime } = JSON.parse(text) as Record<string, unknown>
  const isValid = typeof address === 'string' && address !== '' && typeof startTime === 'string'
  if (!isValid || !Number.isSafeInteger(pid) || (pid as number) < 1) throw new TypeError('Not the record of a service')
  return { address, pid: pid as number, startTime }
}
