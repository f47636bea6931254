import type { Socket } from 'node:net'
import type { Clock } from '../../runtime/clock.ts'
import type { TunnelUse } from './ssh-tunnels.ts'
import { TunnelDown } from './tunnel.ts'

/** Connects from the SSH host to this address. Rejects with TunnelDown, ChannelRefused or the code SSH_TIMEOUT. */
export async function connectThrough(
  tunnel: Pick<TunnelUse, 'open' | 'whyWaiting'>,
  base: URL,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number }
): Promise<Socket> {
  const giveUp = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => {
    const waiting = tunnel.whyWaiting()
    const late = Object.assign(new Error('no connection in time'), { code: 'SSH_TIMEOUT' })
    giveUp.abort(waiting === null ? late : new TunnelDown(waiting))
  })
  try {
    const port = Number(base.port || (base.protocol === 'https:' ? 443 : 80))
    const socket = await tunnel.open(base.hostname.replace(/^\[|\]$/g, ''), port, giveUp.signal)
    // HTTP and TLS use only the features that every stream has.
    return socket as Socket
  } finally {
    timer.cancel()
  }
}
