import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DemoRecord, describeDemo, findLivingDemos } from './demo-processes.ts'

function temporary(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-demos-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('a running demo is found with its servers, and one of which nothing runs is not', async () => {
  const directory = temporary()
  const record = new DemoRecord(path.join(directory, '7900'), 7900)
  await record.begin()
  await record.add('Scrapyd on 7901', process.ppid)
  fs.mkdirSync(path.join(directory, '7800'))
  const ended = { pid: process.pid, startTime: 'another boot:1' }
  fs.writeFileSync(
    path.join(directory, '7800', 'processes.json'),
    JSON.stringify({ port: 7800, demo: ended, servers: [{ name: 'Scrapdeck', ...ended }] })
  )
  fs.mkdirSync(path.join(directory, 'broken'))
  fs.writeFileSync(path.join(directory, 'broken', 'processes.json'), '{"port":')
  expect(await findLivingDemos(directory)).toEqual([
    { port: 7900, pid: process.pid, servers: [expect.objectContaining({ name: 'Scrapyd on 7901', pid: process.ppid })] }
  ])
  expect(await findLivingDemos(path.join(directory, 'none'))).toEqual([])
})

const servers = [
  { name: 'Scrapyd on 7901', pid: 12, startTime: 'a' },
  { name: 'Scrapdeck', pid: 15, startTime: 'b' }
]

test('a running demo is named with how to stop it', () => {
  expect(describeDemo({ port: 7900, pid: 9, servers })).toMatch(
    /^A demo is running on port 7900\. To stop it, press Ctrl-C in its terminal, or: (kill 9|taskkill .*9)$/
  )
})

test.skipIf(process.platform === 'win32')('what a killed demo left is named, and stopped with its spiders', () => {
  expect(describeDemo({ port: 7900, pid: null, servers })).toBe(
    `An earlier demo on port 7900 was killed before it could stop its servers. Still running: Scrapyd on 7901 (process 12), Scrapdeck (process 15).
To stop them and their spiders: kill -- -12 -15`
  )
})
