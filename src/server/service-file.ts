import { lstatSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CertificateFiles } from './certificate-files.ts'
import { mayBePlanted } from '../engine/runtime/file-trust.ts'
import { isAlive, readStartTime } from '../engine/runtime/process-identity.ts'

/** `address` is `http://127.0.0.1:6800`, or `unix:PATH` without TCP. `pid` is the process that listens there. */
interface ServiceFile {
  address: string
  pid: number
  startTime: string
  /** The certificate that the service presents over HTTPS. It might not cover this machine's names. */
  certificate?: string
}

const pathIn = (dataDirectory: string) => join(dataDirectory, 'service.json')

/**
 * Records the address of this service. Programs on this machine send the password only there. Returns a function that
 * removes the record.
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
 * Returns the address of the running service with this data directory, or null. If the service was killed, another
 * program may listen there, so the record counts only while the process that wrote it is alive.
 */
export async function findRunningService(dataDirectory: string): Promise<string | null> {
  return (await findRunning(dataDirectory))?.address ?? null
}

/** Like findRunningService, but with the certificate that identifies the service, or null if it has none. */
export async function findRunning(
  dataDirectory: string
): Promise<{ address: string; certificate: string | null } | null> {
  try {
    const path = pathIn(dataDirectory)
    // The file decides where passwords are sent, so no other user must be able to write it.
    if (mayBePlanted(statSync(path))) return null
    const record = readRecord(readFileSync(path, 'utf8'))
    const [, socket] = /^unix:(.+)$/.exec(record.address) ?? []
    // Another user with write access to the directory could have replaced the socket.
    const isOurs = socket === undefined || lstatSync(socket).uid === statSync(path).uid
    const { address, certificate = null } = record
    return isOurs && (await isAlive(record)) ? { address, certificate } : null
  } catch {
    // The record is missing, damaged or not readable by this user, so no running service is known.
    return null
  }
}

/** Does not use zod, because loading it would take longer than the service's response. */
function readRecord(text: string): ServiceFile {
  const { address, pid, startTime, certificate } = JSON.parse(text) as Record<string, unknown>
  const isValid = typeof address === 'string' && address !== '' && typeof startTime === 'string'
  if (!isValid || !Number.isSafeInteger(pid) || (pid as number) < 1) throw new TypeError('Not the record of a service')
  return { address, pid: pid as number, startTime, ...(typeof certificate === 'string' && { certificate }) }
}
