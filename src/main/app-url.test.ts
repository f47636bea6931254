import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findAppFile, isAppUrl } from './app-url.ts'

const DIRECTORY = '/opt/scrapdeck/out/renderer'

describe('the address of a document', () => {
  test.each(['scrapdeck-app://app/', 'scrapdeck-app://app/#/jobs', 'scrapdeck-app://app/index.html?x=1'])(
    'is %s',
    (url) => expect(isAppUrl(url)).toBe(true)
  )

  test.each([
    'scrapdeck-app://app',
    'scrapdeck-app://app.evil/',
    'scrapdeck-app://app@evil/',
    'scrapdeck-app://evil/app/',
    'scrapdeck-app:///app/',
    'https://app/',
    'file:///scrapdeck-app://app/',
    'about:blank',
    ''
  ])('is not %s', (url) => expect(isAppUrl(url)).toBe(false))
})

describe('the file for an address', () => {
  test('is the named file', () => {
    expect(findAppFile(DIRECTORY, 'scrapdeck-app://app/assets/index-1a2b.js?v=2#x')).toBe(
      `${DIRECTORY}/assets/index-1a2b.js`
    )
  })

  test('is the page itself for the root and for a view', () => {
    expect(findAppFile(DIRECTORY, 'scrapdeck-app://app/')).toBe(`${DIRECTORY}/index.html`)
    expect(findAppFile(DIRECTORY, 'scrapdeck-app://app/jobs')).toBe(`${DIRECTORY}/index.html`)
  })

  test.each([
    'scrapdeck-app://app/..%2f..%2fpackage.json',
    'scrapdeck-app://app/assets/..%2F..%2F..%2Fmain/index.js',
    'scrapdeck-app://app/..%5c..%5cmain%5cindex.js',
    'scrapdeck-app://app/index.html%00.js',
    'scrapdeck-app://app/%ff.js',
    'https://app/index.html'
  ])('does not exist for %s', (url) => expect(findAppFile(DIRECTORY, url)).toBeNull())

  test('is never outside the directory', () => {
    const piece = fc.constantFrom('..', '.', '%2e%2e', '%2f', '/', '\\', '%5c', 'a', 'index.js', '%00', '%', '?', '#')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const file = findAppFile(DIRECTORY, `scrapdeck-app://app/${pieces.join('')}`)
        expect(file === null || file.startsWith(`${DIRECTORY}/`)).toBe(true)
      })
    )
  })
})
