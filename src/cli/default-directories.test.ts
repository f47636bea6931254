import { describe, expect, it } from 'vitest'
import { defaultConfigDirectory, defaultDataDirectory } from './default-directories.ts'

describe('the default data directory', () => {
  const find = (platform: NodeJS.Platform, homeDirectory: string, environment = {}) =>
    defaultDataDirectory({ platform, homeDirectory, environment })

  it('follows the conventions of each system', () => {
    expect(find('linux', '/home/ann')).toBe('/home/ann/.local/share/scrapdeck')
    expect(find('linux', '/home/ann', { XDG_DATA_HOME: '/data' })).toBe('/data/scrapdeck')
    expect(find('linux', '/home/ann', { XDG_DATA_HOME: 'relative' })).toBe('/home/ann/.local/share/scrapdeck')
    expect(find('darwin', '/Users/ann')).toBe('/Users/ann/Library/Application Support/Scrapdeck')
    expect(find('win32', 'C:\\Users\\ann', { APPDATA: 'D:\\Roaming' })).toBe('D:\\Roaming\\Scrapdeck')
    expect(find('win32', 'C:\\Users\\ann')).toBe('C:\\Users\\ann\\AppData\\Roaming\\Scrapdeck')
  })

  it('and the default configuration directory follow the same conventions', () => {
    const machine = { platform: 'linux' as const, homeDirectory: '/home/ann', environment: {} }
    expect(defaultConfigDirectory(machine)).toBe('/home/ann/.config/scrapdeck')
    expect(defaultConfigDirectory({ ...machine, environment: { XDG_CONFIG_HOME: '/c' } })).toBe('/c/scrapdeck')
  })
})
