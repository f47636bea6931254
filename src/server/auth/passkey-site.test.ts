import { describe, expect, it } from 'vitest'
import { passkeySiteOf } from './host-rule.ts'

describe('passkeys', () => {
  it.each([
    ['https://deck.example.org', null, { origin: 'https://deck.example.org', host: 'deck.example.org' }],
    ['https://deck.example.org:6800', null, { origin: 'https://deck.example.org:6800', host: 'deck.example.org' }],
    ['http://localhost:6800', null, { origin: 'http://localhost:6800', host: 'localhost' }],
    // A proxy that does not report the scheme of the request.
    [
      'http://deck.example.org',
      'https://deck.example.org',
      { origin: 'https://deck.example.org', host: 'deck.example.org' }
    ]
  ])('work at %s (public_url: %s)', (address, publicUrl, site) => {
    expect(passkeySiteOf(address, publicUrl)).toEqual(site)
  })

  it.each([
    ['http://127.0.0.1:6800', null, /127\.0\.0\.1 is an address: open http:\/\/localhost:6800\/ui\//],
    ['http://[::1]:6800', null, /open http:\/\/localhost:6800/],
    ['https://10.1.2.3', null, /10\.1\.2\.3 is an address: open Scrapdeck by its name/],
    ['http://deck.example.org:6800', null, /over HTTPS only/],
    ['http://localhost:6800', 'https://deck.example.org', /work at https:\/\/deck\.example\.org only/],
    ['http://deck.example.org', 'http://deck.example.org', /over HTTPS only/],
    ['http://', null, /need a host name/]
  ])('cannot work at %s (public_url: %s), with the reason', (address, publicUrl, words) => {
    expect(passkeySiteOf(address, publicUrl)).toEqual({
      problem: expect.objectContaining({ text: expect.stringMatching(words) })
    })
  })
})
