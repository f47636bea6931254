import { ScrapdeckError } from '../shared/errors.ts'
import { requireCredentials } from './credentials.ts'

/** Requests a new one-time login link from the service on this machine. */
export async function requestLoginLink(dataDirectory: string, port: number): Promise<string> {
  const { username, password } = requireCredentials(dataDirectory)
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const address = `http://127.0.0.1:${port}`
  const response = await fetch(`${address}/ui/link`, {
    method: 'POST',
    headers: { authorization },
    signal: AbortSignal.timeout(10_000)
  }).catch((error: unknown) => {
    throw new ScrapdeckError(
      'NOT_FOUND',
      `No Scrapdeck responds at ${address}. Start it, or name its port with --port.`,
      { cause: error }
    )
  })
  if (!response.ok) {
    throw new ScrapdeckError(
      'UNAUTHORIZED',
      `${address} refused the credentials of ${dataDirectory}: it uses another data directory. Name it with --data.`
    )
  }
  return `${address}${await response.text()}`
}
