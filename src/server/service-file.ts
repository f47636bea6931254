import { lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CertificateFiles } from './certificate-files.ts'
import { mayBePlanted } from '../engine/runtime/file-trust.ts'
import { isAlive, readStartTime } from '../engine/runtime/process-identity.ts'

/** `http://127.0.0.1:6800`, or `unix:PATH` if there is no TCP; and the process that listens there. */
interface ServiceFile {
  address: string
  pid: number
  startTime: string
  /** With `https:`, the one that it shows: names in it may be those of other machines. */
  certificate?: string
}

const pathIn = (dataDirectory: string) => join(dataDirectory, 'service.json')

/**
 * Records in the data directory where its service listens: the only address to which programs on this machine send the
 * password that is kept beside it. Returns what removes the record.
 */
export async function recordService(
  dataDirectory: string,
  address: string,
  certificate: CertificateFiles | null = null
): Promise<() => void> {
  const record = { address, pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' }
  const path = pathIn(dataDirectory)
  let isForgotten = false
  const write = (more: Partial<ServiceFile>) => {
    if (isForgotten) return
    writeFileSync(`${path}.new`, `${JSON.stringify({ ...record, ...more })}\n`, { mode: 0o600 })
    renameSync(`${path}.new`, path)
  }
  if (certificate === null) write({})
  else certificate.use(({ own }) => write({ certificate: own }))
  return () => {
    isForgotten = true
    rmSync(path, { force: true })
  }
}

/**
 * The address of the service that runs with this data directory; null if none does. After a kill the record remains and
 * anybody may listen there, so it counts only while the process that wrote it lives.
 */
export async function findRunningService(dataDirectory: string): Promise<string | null> {
  return (await findRunning(dataDirectory))?.address ?? null
}

/** The same, with the certificate by which it is recognized; null: it has none. */
export async function findRunning(
  dataDirectory: string
): Promise<{ address: string; certificate: string | null } | null> {
  try {
    const path = pathIn(dataDirectory)
    // Its writer chooses where passwords are sent.
    if (mayBePlanted(statSync(path))) return null
    const record = readRecord(readFileSync(path, 'utf8'))
    const [, socket] = /^unix:(.+)$/.exec(record.address) ?? []
    // Another user who may write to the directory could have replaced the socket.
    const isOurs = socket === undefined || lstatSync(socket).uid === statSync(path).uid
    const { address, certificate = null } = record
    return isOurs && (await isAlive(record)) ? { address, certificate } : null
  } catch {
    // Missing, not readable for this user, or damaged: no running service is known.
    return null
  }
}

/** Checked without zod, for which the command line would wait longer than for the service's answer. */
function readRecord(text: string): ServiceFile {
  const { address, pid, startTime, certificate } = JSON.parse(text) as Record<string, unknown>
  const isValid = typeof address === 'string' && address !== '' && typeof startTime === 'string'
  if (!isValid || !Number.isSafeInteger(pid) || (pid as number) < 1) throw new TypeError('Not the record of a service')
  return { address, pid: pid as number, startTime, ...(typeof certificate === 'string' && { certificate }) }
}
