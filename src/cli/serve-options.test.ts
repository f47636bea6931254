import { describe, expect, it } from 'vitest'
import { defaultDataDirectory } from './default-data-directory.ts'
import { resolvePort, resolveServeOptions } from './serve-options.ts'

describe('options of serve', () => {
  it('have defaults', () => {
    expect(resolveServeOptions({}, {}, '/data')).toEqual({
      dataDirectory: '/data',
      bindAddress: '127.0.0.1',
      port: 6800,
      credentials: null,
      localSlots: null,
      pythonPath: null,
      allowedHosts: []
    })
  })

  it("come from our variables before Scrapyd's, and from the command line before both", () => {
    const environment = {
      SCRAPDECK_DATA: '/from-environment',
      SCRAPYD_BIND_ADDRESS: '0.0.0.0',
      SCRAPDECK_PORT: '7001',
      SCRAPYD_HTTP_PORT: '7002',
      SCRAPYD_USERNAME: 'u',
      SCRAPYD_PASSWORD: 'p',
      SCRAPDECK_LOCAL_SLOTS: '3',
      SCRAPDECK_PYTHON: '/usr/bin/python3',
      SCRAPDECK_ALLOWED_HOST: 'a.example, b.example'
    }
    const fromEnvironment = {
      dataDirectory: '/from-environment',
      bindAddress: '0.0.0.0',
      port: 7001,
      credentials: { username: 'u', password: 'p' },
      localSlots: 3,
      pythonPath: '/usr/bin/python3',
      allowedHosts: ['a.example', 'b.example']
    }
    expect(resolveServeOptions({}, environment, '/data')).toEqual(fromEnvironment)
    expect(resolveServeOptions({ port: '0', localSlots: '0', data: '/d' }, environment, '/data')).toEqual({
      ...fromEnvironment,
      dataDirectory: '/d',
      port: 0,
      localSlots: 0
    })
  })

  it('an empty variable is no variable, as in Scrapyd', () => {
    expect(resolvePort(undefined, { SCRAPDECK_PORT: '', SCRAPYD_HTTP_PORT: '7002' })).toBe(7002)
    expect(resolveServeOptions({}, { SCRAPYD_USERNAME: '', SCRAPYD_PASSWORD: '' }, '/data').credentials).toBeNull()
  })

  it.each(['x', '-1', '65536', '1.5', ' '])('--port %j is refused', (port) => {
    expect(() => resolveServeOptions({ port }, {}, '/data')).toThrow('--port takes a whole number from 0 to 65535')
  })

  it('a password without a user name is refused', () => {
    expect(() => resolveServeOptions({ password: 'p' }, {}, '/data')).toThrow('together')
  })
})

describe('the default data directory', () => {
  const find = (platform: NodeJS.Platform, homeDirectory: string, environment = {}) =>
    defaultDataDirectory({ platform, homeDirectory, environment })

  it('is the place each system has for it', () => {
    expect(find('linux', '/home/ann')).toBe('/home/ann/.local/share/scrapdeck')
    expect(find('linux', '/home/ann', { XDG_DATA_HOME: '/data' })).toBe('/data/scrapdeck')
    expect(find('linux', '/home/ann', { XDG_DATA_HOME: 'relative' })).toBe('/home/ann/.local/share/scrapdeck')
    expect(find('darwin', '/Users/ann')).toBe('/Users/ann/Library/Application Support/Scrapdeck')
    expect(find('win32', 'C:\\Users\\ann', { APPDATA: 'D:\\Roaming' })).toBe('D:\\Roaming\\Scrapdeck')
    expect(find('win32', 'C:\\Users\\ann')).toBe('C:\\Users\\ann\\AppData\\Roaming\\Scrapdeck')
  })
})
