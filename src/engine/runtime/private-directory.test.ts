import { chmodSync, chownSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { makePrivateDirectory, openDataDirectory } from './private-directory.ts'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe.skipIf(process.platform === 'win32')('a data directory', () => {
  it('is created for its user only, with what is missing above it', async () => {
    await using place = await makeTemporaryDirectory()
    openDataDirectory(join(place.path, 'a', 'b'))
    expect([modeOf(join(place.path, 'a')), modeOf(join(place.path, 'a', 'b'))]).toEqual(['700', '700'])
  })

  it('of an older Scrapdeck is closed to other users, and so is what is in it', async () => {
    await using place = await makeTemporaryDirectory()
    chmodSync(place.path, 0o755)
    mkdirSync(join(place.path, 'local'), 0o755)
    writeFileSync(join(place.path, 'engine.lock'), '', { mode: 0o644 })
    openDataDirectory(place.path)
    const modes = [place.path, join(place.path, 'local'), join(place.path, 'engine.lock')].map(modeOf)
    expect(modes).toEqual(['700', '700', '600'])
  })

  it('that also holds other things keeps its mode, and so do they', async () => {
    await using place = await makeTemporaryDirectory()
    chmodSync(place.path, 0o755)
    mkdirSync(join(place.path, 'home'), 0o755)
    mkdirSync(join(place.path, 'local'), 0o755)
    openDataDirectory(place.path)
    expect([place.path, join(place.path, 'home'), join(place.path, 'local')].map(modeOf)).toEqual(['755', '755', '700'])
  })

  // Only root can give files away.
  it.runIf(process.getuid?.() === 0)('of another user is refused with the reason, and stays as it is', async () => {
    await using place = await makeTemporaryDirectory()
    chmodSync(place.path, 0o755)
    chownSync(place.path, 54_321, 54_321)
    expect(() => openDataDirectory(place.path)).toThrow(
      `The data directory ${place.path} cannot be used: it belongs to another user (54321), who could read and change everything in it.`
    )
    expect(modeOf(place.path)).toBe('755')
  })

  it.runIf(existsSync('/proc/self'))('below /proc is refused at once', () => {
    expect(() => openDataDirectory('/proc/scrapdeck/data')).toThrow(
      'The data directory /proc/scrapdeck/data cannot be used: /proc takes no new directories. Or choose another'
    )
    expect(() => makePrivateDirectory('/proc/scrapdeck')).toThrow('/proc takes no new directories')
  })
})
