import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'
import { askRest, readEvents, type SentEvent } from '../support/rest.ts'
import { startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

const SPIDER = `import asyncio
import scrapy


class Lines(scrapy.Spider):
    """Writes as many lines as the gate says; every tenth has two."""
    name = "lines"

    async def start(self):
        written = 0
        while True:
            with open(self.gate) as file:
                wanted = file.read()
            if wanted == "end":
                return
            while written < int(wanted or 0):
                written += 1
                self.logger.info("line %d é%s", written, "" if written % 10 else "\\nmore of it")
            await asyncio.sleep(0.02)
        yield
`

test('the log of a running spider arrives as events: a client that reconnects after kill -9 gets each line exactly once', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-job-log-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const gate = join(directory, 'gate')
  const letThrough = (lines: number | 'end') => writeFileSync(gate, String(lines))
  letThrough(20)
  const service = await startService({ localSlots: 1 })
  onTestFinished(() => service.stop())
  const files = {
    'scrapy.cfg': '[settings]\ndefault = shop.settings\n',
    'shop/__init__.py': '',
    'shop/settings.py': 'SPIDER_MODULES = ["shop.spiders"]\nTELNETCONSOLE_ENABLED = False\n',
    'shop/spiders.py': SPIDER
  }
  const egg = await buildEgg(Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })))
  const file = new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
  await service.client.projects.upload({ file, project: 'shop', version: '1' })
  const { body: made } = await askRest(service.address, {
    method: 'POST',
    path: '/jobs',
    body: { project: 'shop', spiders: ['lines'], args: { gate } }
  })
  const { id } = made.jobs[0]
  const logFile = join(service.dataDirectory, 'local', 'logs', 'shop', 'lines', `${id}.log`)

  const sent: SentEvent[] = []
  const lastId = () => sent.findLast((event) => event.id !== null)?.id ?? null
  /**
   * Like an EventSource, resumes after the last event received. Ends when it has enough events or the connection
   * breaks.
   */
  const read = async (isEnough: (event: SentEvent) => boolean, onFirst = () => {}) => {
    for await (const event of readEvents(service.address, `/jobs/${id}/logs`, lastId())) {
      sent.push(event)
      onFirst()
      if (isEnough(event)) return
    }
  }
  const isLine = (number: number) => (event: SentEvent) => event.data.message === `line ${number} é`

  // This reader is connected and has read a part of the stream when the engine dies.
  let killed: Promise<void> | null = null
  await read(
    () => false,
    () => {
      if (killed !== null || !sent.some(isLine(12))) return
      killed = service.kill()
    }
  )
  await killed
  const before = sent.length
  letThrough(45)
  await until(
    'the spider to write on without its engine',
    async () => readFileSync(logFile, 'utf8'),
    (log) => log.includes('line 45')
  )
  await service.start()
  await read(isLine(33))
  expect(sent.length).toBeGreaterThan(before)
  // Disconnects, then reconnects when there is nothing new to read before the spider ends.
  await read(isLine(45))
  letThrough('end')
  await read(({ event }) => event === 'end')

  const lines = readFileSync(logFile, 'utf8').split('\n').slice(0, -1)
  const messages = sent.filter(({ event }) => event === 'log').map(({ data }) => data.message)
  expect(messages).toEqual(lines.map((line) => line.replace(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] [A-Z]+: /, '')))
  expect(messages.filter((message) => /^line \d+ é$/.test(message))).toHaveLength(45)
  const more = sent.find(({ data }) => data.message === 'more of it')
  expect(more?.data).toMatchObject({ continued: true, level: 'INFO', logger: 'lines' })
  expect(sent.at(-1)).toMatchObject({ event: 'end', id: 'end', data: { outcome: 'succeeded', status: 'succeeded' } })
  // 204 tells an EventSource that reconnects after the end to stop.
  const again = await askRest(service.address, { path: `/jobs/${id}/logs`, headers: { 'last-event-id': 'end' } })
  expect([again.status, again.body]).toEqual([204, null])
}, 180_000)
