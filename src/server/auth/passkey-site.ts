import { isIP } from 'node:net'
import type { NoPasskeySite, PasskeySite } from '../../engine/index.ts'
import { isLoopback } from './host-rule.ts'

/**
 * Where passkeys are made for a browser that has opened `address` (`https://deck.example.org:6800`), or why there can
 * be none: they belong to the name of a host, and browsers have them over HTTPS and on localhost only. `publicUrl`: the
 * only address for them, if one is configured.
 */
export function passkeySiteOf(address: string, publicUrl: string | null): PasskeySite | NoPasskeySite {
  if (!URL.canParse(address)) return { problem: 'Passkeys need a host name: open Scrapdeck by its name.' }
  if (publicUrl !== null && new URL(publicUrl).hostname !== new URL(address).hostname) {
    return { problem: `Passkeys of this Scrapdeck work at ${publicUrl} only: open it there.` }
  }
  const { protocol, hostname, origin, port } = new URL(publicUrl ?? address)
  const plain = hostname.replaceAll(/[[\]]/g, '')
  if (isIP(plain) !== 0) {
    const here = `http://localhost${port === '' ? '' : `:${port}`}/ui/`
    const instead = isLoopback(plain) ? `open ${here}` : 'open Scrapdeck by its name, over HTTPS'
    return { problem: `Passkeys belong to a host name, and ${plain} is an address: ${instead}.` }
  }
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (protocol === 'https:' || isLocal) return { origin, host: hostname }
  return { problem: `Browsers allow passkeys over HTTPS only, and ${origin} is plain HTTP: set up TLS first.` }
}
