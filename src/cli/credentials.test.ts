import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { describeCredentials, requireCredentials } from './credentials.ts'

describe('scrapdeck credentials', () => {
  it('prints a snippet that ConfigParser reads back', async () => {
    await using directory = await makeTemporaryDirectory()
    writeFileSync(join(directory.path, 'credentials.json'), JSON.stringify({ username: 'ann', password: '100%' }))
    const text = describeCredentials(directory.path, 'http://127.0.0.1:6801')
    expect(text).toContain('Password:  100%\n')
    expect(text).toContain('[deploy:scrapdeck]\nurl = http://127.0.0.1:6801/\nusername = ann\npassword = 100%%\n')
  })

  it('says what to do if there are none yet', async () => {
    await using directory = await makeTemporaryDirectory()
    expect(() => describeCredentials(directory.path, 'http://127.0.0.1:6800')).toThrow(
      `npm run serve -- --data ${directory.path}`
    )
  })

  it('says who owns them if the system does not let this user read them', () => {
    for (const code of ['EACCES', 'EPERM']) {
      const denied = Object.assign(new Error(`${code}: permission denied, stat '/data/credentials.json'`), { code })
      const unread = new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', 'It cannot be read.', { cause: denied })
      for (const error of [denied, unread]) {
        const look = () => {
          throw error
        }
        expect(() => requireCredentials('/data', look)).toThrow(
          expect.objectContaining({
            code: 'UNAUTHORIZED',
            message: `${join('/data', 'credentials.json')} can be read only by the user that the service runs as. Run this as that user, or name the service with --url.`
          })
        )
      }
    }
  })
})
