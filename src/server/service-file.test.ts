import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { findRunningService, recordService } from './service-file.ts'

it('a service can be found by its data directory only while its process lives', async () => {
  await using directory = await makeTemporaryDirectory()
  expect(await findRunningService(directory.path)).toBeNull()
  const forget = await recordService(directory.path, 'http://127.0.0.1:7001')
  const file = join(directory.path, 'service.json')
  expect(await findRunningService(directory.path)).toBe('http://127.0.0.1:7001')
  expect(statSync(file).mode & 0o077).toBe(0)
  const record = JSON.parse(readFileSync(file, 'utf8')) as { startTime: string }
  // Simulate that another process has the pid of a killed service. The listener at the recorded address is then not the
  // service.
  writeFileSync(file, JSON.stringify({ ...record, startTime: `${record.startTime}1` }))
  expect(await findRunningService(directory.path)).toBeNull()
  writeFileSync(file, 'damaged')
  expect(await findRunningService(directory.path)).toBeNull()
  forget()
  expect(await findRunningService(directory.path)).toBeNull()
})

// Only root can change the owner of a file.
it.runIf(process.getuid?.() === 0)('a socket that another user put in place of ours is not used', async () => {
  await using directory = await makeTemporaryDirectory()
  const socket = join(directory.path, 'deck.sock')
  writeFileSync(socket, '')
  await recordService(directory.path, `unix:${socket}`)
  expect(await findRunningService(directory.path)).toBe(`unix:${socket}`)
  chownSync(socket, 54_321, 54_321)
  expect(await findRunningService(directory.path)).toBeNull()
})
