import { describe, expect, test } from 'vitest'
import { chooseProxy, parseProxyUrl, withoutCredentials } from './proxy.ts'

describe('the proxy of a node', () => {
  test.each([
    ['its own setting', 'http://own:3128/', 'http://eu-1:6800/', { HTTP_PROXY: 'http://env:1' }, 'http://own:3128/'],
    ['`direct`', 'direct', 'http://eu-1:6800/', { HTTP_PROXY: 'http://env:1' }, null],
    ['HTTP_PROXY', null, 'http://eu-1:6800/', { HTTP_PROXY: 'env:1' }, 'http://env:1/'],
    [
      'http_proxy before HTTP_PROXY',
      null,
      'http://eu-1/',
      { HTTP_PROXY: 'http://b:1', http_proxy: 'http://a:1' },
      'http://a:1/'
    ],
    [
      'HTTPS_PROXY for https',
      null,
      'https://eu-1/',
      { HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'http://b:1' },
      'http://b:1/'
    ],
    ['none for https where only HTTP_PROXY is set', null, 'https://eu-1/', { HTTP_PROXY: 'http://a:1' }, null],
    ['none on this machine', null, 'http://localhost:6800/', { HTTP_PROXY: 'http://a:1' }, null],
    ['none in an empty environment', null, 'http://eu-1:6800/', {}, null]
  ])('is %s', (_name, setting, url, environment, expected) => {
    expect(chooseProxy(setting, url, environment)).toBe(expected)
  })

  test.each([
    ['eu-1', 'http://eu-1:6800/'],
    ['.example.org', 'http://a.b.example.org:6800/'],
    ['*.example.org', 'http://a.example.org:6800/'],
    ['example.org', 'http://a.example.org:6800/'],
    ['a, eu-1:6800 b', 'http://eu-1:6800/'],
    ['10.0.0.0/8', 'http://10.1.2.3:6800/'],
    ['10.1.2.3', 'http://10.1.2.3:6800/'],
    ['fd00::/8', 'http://[fd00::1]:6800/'],
    ['[fd00::1]', 'http://[fd00::1]:6800/'],
    ['EU-1', 'http://eu-1:6800/'],
    ['*', 'http://eu-1:6800/']
  ])('is not used if NO_PROXY has the node: %s', (noProxy, url) => {
    expect(chooseProxy(null, url, { HTTP_PROXY: 'http://a:1', NO_PROXY: noProxy })).toBe(null)
  })

  test.each([
    ['eu-1:443', 'http://eu-1:6800/'],
    ['xample.org', 'http://example.org:6800/'],
    ['10.0.0.0/99', 'http://10.1.2.3:6800/'],
    ['11.0.0.0/8', 'http://10.1.2.3:6800/'],
    ['', 'http://eu-1:6800/'],
    [', ,', 'http://eu-1:6800/']
  ])('is used if NO_PROXY has another node: %s', (noProxy, url) => {
    expect(chooseProxy(null, url, { HTTP_PROXY: 'http://a:1', NO_PROXY: noProxy })).toBe('http://a:1/')
  })

  test.each(['http://us%er:hush@a:1', 'http://user:hu%sh@a:1'])(
    'is refused, and not quoted, if its credentials are badly encoded: %s',
    (text) => {
      const refused = expect.objectContaining({
        code: 'NODE_CONNECTION_INVALID',
        message: expect.not.stringMatching(/hush|hu%sh/)
      })
      expect(() => parseProxyUrl(text)).toThrow(refused)
    }
  )

  test.each(['', 'socks5://a:1', 'http://a:1/path', 'http://a:1/?q', 'http://169.254.169.254:3128', 'http://'])(
    'is refused if it cannot be a proxy: %s',
    (text) => {
      expect(() => parseProxyUrl(text)).toThrow(expect.objectContaining({ code: 'NODE_CONNECTION_INVALID' }))
    }
  )

  test('is shown without its credentials', () => {
    expect(withoutCredentials(parseProxyUrl('user:p%40@proxy:3128'))).toBe('http://proxy:3128/')
    expect(withoutCredentials('direct')).toBe('direct')
  })
})
