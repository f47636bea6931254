import { findRunningService } from '../server/service-file.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { requireCredentials } from './credentials.ts'

/** Requests a new one-time login link from the service that runs with this data directory. */
export async function requestLoginLink(dataDirectory: string): Promise<string> {
  const { username, password } = requireCredentials(dataDirectory)
  const address = await findRunningService(dataDirectory)
  if (address === null) {
    throw new ScrapdeckError(
      'NOT_FOUND',
      `No Scrapdeck runs with the data in ${dataDirectory}. Start it, or name the data directory of another with --data.`
    )
  }
  if (!address.startsWith('http')) {
    throw new ScrapdeckError('NOT_FOUND', `Browsers cannot reach ${address}. Start the service with http_port.`)
  }
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const response = await fetch(`${address}/ui/link`, {
    method: 'POST',
    headers: { authorization },
    redirect: 'manual',
    signal: AbortSignal.timeout(10_000)
  }).catch((error: unknown) => {
    throw new ScrapdeckError('NOT_FOUND', `Scrapdeck does not respond at ${address}.`, { cause: error })
  })
  if (!response.ok) {
    throw new ScrapdeckError(
      'UNAUTHORIZED',
      `${address} refused the credentials in ${dataDirectory}. They were changed: restart the service.`
    )
  }
  return `${address}${await response.text()}`
}
