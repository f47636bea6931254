import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { makePrivateDirectory, openDataDirectory } from './private-directory.ts'

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe.skipIf(process.platform === 'win32')('a data directory', () => {
  it('is created for its user only, with missing parent directories', async () => {
    await using place = await makeTemporaryDirectory()
    openDataDirectory(join(place.path, 'a', 'b'))
    expect([modeOf(join(place.path, 'a')), modeOf(join(place.path, 'a', 'b'))]).toEqual(['700', '700'])
  })

  it('of an older Scrapdeck is closed to other users, with its contents', async () => {
    await using place = await makeTemporaryDirectory()
    chmodSync(place.path, 0o755)
    mkdirSync(join(place.path, 'local'), 0o755)
    writeFileSync(join(place.path, 'engine.lock'), '', { mode: 0o644 })
    openDataDirectory(place.path)
    const modes = [place.path, join(place.path, 'local'), join(place.path, 'engine.lock')].map(modeOf)
    expect(modes).toEqual(['700', '700', '600'])
  })

  it('that also holds other files keeps its mode, and so do they', async () => {
    await using place = await makeTemporaryDirectory()
    chmodSync(place.path, 0o755)
    mkdirSync(join(place.path, 'home'), 0o755)
    mkdirSync(join(place.path, 'local'), 0o755)
    openDataDirectory(place.path)
    expect([place.path, join(place.path, 'home'), join(place.path, 'local')].map(modeOf)).toEqual(['755', '755', '700'])
  })

  it('that others can reach is refused if they can write to what decides about access and code', async () => {
    for (const name of [
      'credentials.json',
      'credentials.json.new',
      'secret.key',
      'sessions.json',
      'scrapdeck.sqlite'
    ]) {
      await using place = await makeTemporaryDirectory()
      chmodSync(place.path, 0o755)
      const file = join(place.path, name)
      writeFileSync(file, '{}')
      chmodSync(file, 0o666)
      expect(() => openDataDirectory(place.path)).toThrow(
        `The data directory ${place.path} cannot be used: ${file} can be written by every user, who may have changed it. If you know its content, close it with chmod go-w ${file}; otherwise delete it.`
      )
    }
    for (const name of ['runs', 'egg-files']) {
      await using place = await makeTemporaryDirectory()
      chmodSync(place.path, 0o755)
      const folder = join(place.path, 'local', name)
      mkdirSync(folder, { recursive: true })
      chmodSync(folder, 0o777)
      expect(() => openDataDirectory(place.path)).toThrow(`${folder} can be written by every`)
    }
  })

  it('that only its user can reach is accepted with any modes in it, which are then closed', async () => {
    await using place = await makeTemporaryDirectory()
    mkdirSync(join(place.path, 'local', 'runs'), { recursive: true })
    writeFileSync(join(place.path, 'secret.key'), '')
    for (const name of ['local', 'local/runs', 'secret.key']) chmodSync(join(place.path, name), 0o777)
    openDataDirectory(place.path)
    expect(['local', 'local/runs', 'secret.key'].map((name) => modeOf(join(place.path, name)))).toEqual([
      ...['700', '700', '700']
    ])
  })

  it('that others can write to and that holds other files is refused', async () => {
    await using place = await makeTemporaryDirectory()
    writeFileSync(join(place.path, 'notes.txt'), '')
    chmodSync(place.path, 0o777)
    expect(() => openDataDirectory(place.path)).toThrow(
      `it can be written by every user, and contains other things. Close it: chmod go-w ${place.path}`
    )
  })

  it('can have a part elsewhere behind a link, which is closed too, but not where others can write', async () => {
    await using place = await makeTemporaryDirectory()
    await using disk = await makeTemporaryDirectory()
    mkdirSync(join(disk.path, 'runs'))
    chmodSync(disk.path, 0o755)
    symlinkSync(disk.path, join(place.path, 'local'))
    openDataDirectory(place.path)
    expect(modeOf(disk.path)).toBe('700')
    chmodSync(disk.path, 0o777)
    expect(() => openDataDirectory(place.path)).toThrow(
      `${join(place.path, 'local')} leads to ${disk.path}, which can be written by every user. If you know its content: chmod go-w ${disk.path}; otherwise remove the link.`
    )
  })

  it.runIf(process.getuid?.() === 0)(
    'in which another user put one of our files is refused, with its name and what to do',
    async () => {
      const isFolder = (name: string) => !/\.|lock/.test(name)
      for (const name of [
        'credentials.json',
        'secret.key',
        'scrapdeck.sqlite',
        'scrapdeck.sqlite-wal',
        'local',
        'blobs',
        'local/eggs',
        'local/egg-files'
      ]) {
        await using place = await makeTemporaryDirectory()
        const path = join(place.path, name)
        mkdirSync(isFolder(name) ? path : dirname(path), { recursive: true })
        if (!isFolder(name)) writeFileSync(path, '', { mode: 0o600 })
        chownSync(path, 54_321, 54_321)
        expect(() => openDataDirectory(place.path)).toThrow(
          `${path} belongs to another user (54321). If you know its content, give it to yours with chown -R; otherwise delete it.`
        )
      }
      await using place = await makeTemporaryDirectory()
      await using theirs = await makeTemporaryDirectory()
      chownSync(theirs.path, 54_321, 54_321)
      symlinkSync(theirs.path, join(place.path, 'local'))
      expect(() => openDataDirectory(place.path)).toThrow(
        `${join(place.path, 'local')} leads to ${theirs.path}, which belongs to another user (54321). If you know its content`
      )
    }
  )

  it.runIf(process.getuid?.() === 0)('of another user is refused with the reason, and left unchanged', async () => {
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
      'The data directory /proc/scrapdeck/data cannot be used: /proc takes no new directories. Use --data to name another one.'
    )
    expect(() => makePrivateDirectory('/proc/scrapdeck')).toThrow('/proc takes no new directories')
  })
})
