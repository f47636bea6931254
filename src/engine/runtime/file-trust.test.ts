import { chmodSync, chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { findDistrust, requireTrusted } from './file-trust.ts'

const OTHER_USER = 54_321
const isRoot = process.getuid?.() === 0

const linesOf = (file: string) =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':'))

async function aFolder() {
  const directory = await makeTemporaryDirectory()
  mkdirSync(join(directory.path, 'inner'))
  const file = join(directory.path, 'inner', 'scrapy.cfg')
  writeFileSync(file, '', { mode: 0o644 })
  return { file, folder: join(directory.path, 'inner'), [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose]() }
}

describe.skipIf(process.platform === 'win32')('a file is trusted', () => {
  it('if only this user and root can change it, in a sticky directory such as /tmp too', async () => {
    await using place = await aFolder()
    expect(findDistrust(place.file)).toBeNull()
    chmodSync(place.folder, 0o1777)
    expect(findDistrust(place.file)).toBeNull()
    expect(findDistrust(join(place.folder, 'missing'))).toBeNull()
  })

  it('not if everyone can write to it or to a directory above it', async () => {
    await using place = await aFolder()
    chmodSync(place.file, 0o666)
    expect(findDistrust(place.file)).toEqual({
      path: place.file,
      reason: 'can be written by every user',
      remedy: `chmod go-w ${place.file}`
    })
    chmodSync(place.file, 0o600)
    chmodSync(place.folder, 0o777)
    expect(findDistrust(place.file)?.path).toBe(place.folder)
    expect(() => requireTrusted(place.file, 'remove it.')).toThrow(
      `${place.file} is not trusted: its directory ${place.folder} can be written by every user. If it is yours: chmod go-w ${place.folder}. Otherwise remove it.`
    )
  })

  it.runIf(isRoot)(
    'not if a shared group can write to it; a group of only this user and root counts as the user',
    async () => {
      await using place = await aFolder()
      chmodSync(place.file, 0o664)
      expect(findDistrust(place.file)).toBeNull()
      chownSync(place.file, 0, OTHER_USER)
      expect(findDistrust(place.file)?.reason).toBe(`can be written by the group ${OTHER_USER}`)
      // A group that has no members and is not a user's private group. A service can run with it.
      const [name, , id] = linesOf('/etc/group').find(
        ([, , gid, members]) => members === '' && !linesOf('/etc/passwd').some(([, , , primary]) => primary === gid)
      )!
      chownSync(place.file, 0, Number(id))
      expect(findDistrust(place.file)?.reason).toBe(`can be written by the group ${name}`)
      const theirs = linesOf('/etc/passwd').find(([, , uid, primary]) => uid !== '0' && primary !== '0')!
      chownSync(place.file, 0, Number(theirs[3]))
      expect(findDistrust(place.file)?.reason).toContain('can be written by the group ')
    }
  )

  it.runIf(isRoot)('not if it, a directory above it or a link to it belongs to another user', async () => {
    await using place = await aFolder()
    const link = join(place.folder, 'link')
    symlinkSync('scrapy.cfg', link)
    expect(findDistrust(link)).toBeNull()
    chownSync(place.file, OTHER_USER, 0)
    expect(findDistrust(link)).toMatchObject({ path: place.file, reason: `belongs to another user (${OTHER_USER})` })
    chownSync(place.file, 0, 0)
    chownSync(place.folder, OTHER_USER, 0)
    expect(findDistrust(place.file)?.path).toBe(place.folder)
  })

  it('not if its links form a loop', async () => {
    await using place = await aFolder()
    symlinkSync('loop', join(place.folder, 'loop'))
    expect(findDistrust(join(place.folder, 'loop'))?.reason).toBe('is a loop of links')
  })
})
