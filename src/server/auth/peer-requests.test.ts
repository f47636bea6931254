import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { PEER_HEADER } from '../../engine/runtime/peer-header.ts'
import { clientAddressOfPeer, isFromPeer, recognizePeer } from './peer-requests.ts'

function aRequest(header: string | undefined): IncomingMessage {
  const request = new IncomingMessage(new Socket())
  if (header !== undefined) request.headers[PEER_HEADER] = header
  return request
}

describe('a request that another engine forwarded', () => {
  it('is recognized by the secret, and names its client', () => {
    const request = aRequest('right 10.0.0.7')
    recognizePeer(request, 'right')
    expect([isFromPeer(request), clientAddressOfPeer(request)]).toEqual([true, '10.0.0.7'])
  })

  it.each(['wrong 10.0.0.7', 'right2 10.0.0.7', '', ' 10.0.0.7', undefined])(
    'comes from an ordinary client if the secret is missing or wrong: %j',
    (header) => {
      const request = aRequest(header)
      recognizePeer(request, 'right')
      expect([isFromPeer(request), clientAddressOfPeer(request)]).toEqual([false, null])
    }
  )

  it.each(['right 10.0.0.7', 'wrong 10.0.0.7'])('never passes the secret on: %j', (header) => {
    const request = aRequest(header)
    recognizePeer(request, 'right')
    expect(request.headers).toEqual({})
  })
})
