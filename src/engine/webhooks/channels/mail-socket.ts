import { connect, isIP, type Socket } from 'node:net'
import type { AddressGuard } from '../addresses.ts'
import { forbidden, guardedLookup } from '../guarded-lookup.ts'

const CONNECT_TIMEOUT_MS = 10_000

/**
 * Connects to a mail server whose address the guard allows. Fails with FORBIDDEN_ADDRESS, or as the
 * connection does.
 */
export function connectToMailServer(guard: AddressGuard, host: string, port: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>()
  // A written address is not looked up.
  if (isIP(host) !== 0 && !guard.isAllowed(host)) {
    reject(forbidden(host))
    return promise
  }
  const socket = connect({ host, port, lookup: guardedLookup(guard), timeout: CONNECT_TIMEOUT_MS })
  const fail = (error: Error) => {
    socket.destroy()
    reject(error)
  }
  const tooLate = () => fail(Object.assign(new Error('No connection in time'), { code: 'ETIMEDOUT' }))
  socket.once('error', fail).once('timeout', tooLate)
  socket.once('connect', () => {
    socket.setTimeout(0).off('timeout', tooLate).off('error', fail)
    resolve(socket)
  })
  return promise
}
