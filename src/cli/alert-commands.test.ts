import { expect, it } from 'vitest'
import { ALERT_WATCHES, type AlertWatch } from '../shared/alert-watches.ts'
import type { Alert, AlertReport, AlertRuleSettings } from '../shared/contract/index.ts'
import { EXAMPLES } from '../shared/examples/operations.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { describeReport } from './commands/alerts.ts'
import { call, openEngine, startServer } from './testing/call.ts'
import { isCore } from '../../scripts/test-length.mjs'

async function openWithAlert() {
  const opened = await openEngine()
  const { engine } = opened
  await engine.prepare('berlin')
  const rule = (watch: AlertWatch, over: Partial<AlertRuleSettings>) => {
    const { usual, compares } = ALERT_WATCHES[watch]
    const settings = { ...usual, watch, comparison: compares[0], name: watch, channels: [], ...over }
    return engine.client.alertRules.create(settings)
  }
  await rule('node_down', { name: 'Nodes', forSeconds: 0, owner: 'Ops' })
  engine.node.isDown = true
  await engine.until(async () => (await engine.client.alerts.list({})).alerts.length === 1)
  const [alert] = (await engine.client.alerts.list({})).alerts
  return { ...opened, alert: alert! }
}

it('alerts lists firing alerts, acknowledges one by its short id, and shows who did it', async () => {
  const { run, alert } = await openWithAlert()
  const start = alert.id.slice(-8)
  const shown = await run('alerts')
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(new RegExp(`^${start} +critical +firing +\\d.* +Nodes +Ops +berlin is down`, 'm'))
  expect(JSON.parse((await run('alerts', '--json')).out)).toMatchObject({
    alerts: [{ id: alert.id }],
    nextBefore: null
  })
  expect((await run('alerts', 'list', '--rule', 'nodes')).out).toContain('berlin is down')
  expect(await run('alerts', 'ack', start)).toMatchObject({ code: 0, out: '1 alert acknowledged.\n' })
  expect((await run('alerts')).out).toMatch(/firing, acknowledged by the owner/)
  expect((await run('alerts', 'ack', alert.id)).out).toBe(
    '0 alerts acknowledged. 1 alert had ended or been acknowledged before.\n'
  )
  expect((await run('alerts', 'ack', '--undo', start)).out).toBe('1 alert no longer acknowledged.\n')
  expect((await run('alerts')).out).not.toMatch(/acknowledged/)
  expect((await run('alerts', 'ack', '--undo', start)).out).toBe(
    '0 alerts no longer acknowledged. 1 alert had ended or not been acknowledged.\n'
  )
  const wrong = await run('alerts', 'ack', 'abc')
  expect([wrong.code, wrong.error]).toEqual([EXIT_CODES.notFound, expect.stringContaining('No alert that fires has')])
  expect((await run('alerts', '--rule', 'x')).error).toBe('There is no alert rule x. There are Nodes.')
  expect((await run('alerts', '--limit', '0')).code).toBe(EXIT_CODES.usage)
})

it('alerts silence says what is silent and for how long; unsilence ends it', async () => {
  const { engine, run } = await openWithAlert()
  expect((await run('alerts', 'silence')).code).toBe(EXIT_CODES.usage)
  const nowMs = engine.clock.nowMs()
  const words = ['--node', 'berlin', '--rule', 'Nodes', '--comment', 'moving']
  const made = await run('alerts', 'silence', '--for', `${Math.ceil(nowMs / 1_000 / 86_400) + 2}d`, ...words)
  const [silence] = (await engine.client.alertSilences.list()).silences
  expect(made).toMatchObject({ code: 0, out: expect.stringContaining(`alerts unsilence ${silence!.id}" ends it`) })
  expect(silence).toMatchObject({ comment: 'moving', by: 'the owner', project: null })
  expect((await run('alerts')).out).toMatch(/firing, silenced/)
  expect((await run('alerts', 'silences')).out).toMatch(/- +Nodes +- +- +berlin +the owner +moving/)
  expect((await run('alerts', 'unsilence', silence!.id)).out).toBe('The silence has ended.\n')
  expect((await run('alerts', 'silences')).out).toBe('No silences.\n')
  const untilMs = nowMs + 86_400_000
  const several = await Promise.all([1, 2].map(() => engine.client.alertSilences.create({ untilMs })))
  const ids = several.map((one) => one.silence.id)
  const short = ids.map((id) => id.slice(-8))
  expect((await run('alerts', 'unsilence', ...short, silence!.id)).out).toBe('2 silences ended. 1 had ended before.\n')
  expect((await run('alerts', 'unsilence', silence!.id)).code).toBe(EXIT_CODES.notFound)
})

it('alerts silence --every creates a maintenance window in its zone, from the given time', async () => {
  const { engine, run } = await openWithAlert()
  const window = (...words: string[]) => run('alerts', 'silence', '--for', '2h', ...words)
  const sundays = ['--every', 'week', '--from', '2027-01-17T02:00', '--zone', 'Asia/Tokyo', '--tag', 'eu']
  const made = await window(...sundays, '--ends', '2028-01-01')
  const [silence] = (await engine.client.alertSilences.list()).silences
  expect(silence).toMatchObject({
    fromMs: Date.UTC(2027, 0, 16, 17),
    untilMs: Date.UTC(2027, 0, 16, 19),
    nodeTag: 'eu',
    repeats: { every: 'week', zone: 'Asia/Tokyo', endsMs: Date.UTC(2027, 11, 31, 15) }
  })
  const words = 'every Sunday 02:00–04:00 (Asia/Tokyo), last on 2027-12-31'
  const next = 'next from 2027-01-17 02:00:00 until 2027-01-17 04:00:00'
  expect(made.out).toBe(`Silent ${words}, ${next}; "scrapdeck alerts unsilence ${silence!.id}" ends it.\n`)
  expect((await run('alerts', 'silences')).out).toContain(words)
  const wrong = [
    ...[
      ['--every', 'month'],
      ['--every', 'week', '--zone', 'Berlin'],
      ['--ends', '2028-01-01']
    ],
    ['--every', 'day', '--from', 'noon']
  ]
  for (const flags of wrong) expect((await window(...flags)).code).toBe(EXIT_CODES.usage)
  expect((await run('alerts', 'silence', '--for', '2d', '--every', 'day')).error).toMatch(/lasts no longer than a day/)
  expect((await engine.client.alertSilences.list()).silences).toHaveLength(1)
})

it.skipIf(isCore)('alerts report sums up the last day or week', async () => {
  const { run } = await openWithAlert()
  const shown = await run('alerts', 'report')
  expect(shown.code).toBe(0)
  expect(shown.out).toMatch(/^Report of [\d-]+ [\d:]+ to /)
  expect(shown.out).toMatch(/^now +0 +0 +0 +0 +0 +0$/m)
  expect(shown.out).toContain('Alerts: 1 fired · nodes: 1, 1 down: berlin · queue: 0 jobs waiting')
  const week = JSON.parse((await run('alerts', 'report', '--days', '7', '--json')).out) as AlertReport
  expect(week.untilMs - week.fromMs).toBe(7 * 86_400_000)
  expect((await run('alerts', 'report', '--days', '3')).code).toBe(EXIT_CODES.usage)
})

it('alerts report has a table for each kind of thing that needs attention', () => {
  const lines = describeReport(EXAMPLES.alerts.report.output).split('\n')
  const { newErrors, slowest, unusual } = EXAMPLES.alerts.report.output
  expect(lines).toContainEqual(expect.stringMatching(/^ +RUNS +SUCCEEDED +FAILED +LOST +UNCLEAR +CANCELLED$/))
  expect(lines).toContainEqual(expect.stringMatching(/^shop\/prices +6 +28 +shutdown$/))
  for (const text of [newErrors.groups[0]!.title, slowest[0]!.spider, unusual[0]!.text])
    expect(lines).toContainEqual(expect.stringContaining(text))
  expect(lines).toContainEqual(expect.stringMatching(/^Database: .+ · logs: .+ · disk: .+ % free$/))
  expect(describeReport({ ...EXAMPLES.alerts.report.output, failing: [], isComplete: false })).toMatch(
    /No run failed or was lost\.[^]+too many jobs/
  )
})

it.skipIf(isCore)('alerts rules lists the rules with their alerts', async () => {
  const { run } = await openWithAlert()
  expect((await run('alerts', 'rules')).out).toMatch(/^Nodes +critical +a node does not respond +- +1 +1 +0 +.+ ago/m)
  const { url } = await openEngine()
  expect((await call(['alerts', 'rules'], { url, password: 'wrong' })).code).not.toBe(0)
})

it('alerts --follow prints alerts that fire and then end, even those of a time without a connection', async () => {
  const alert: Alert = { ...EXAMPLES.alerts.list.output.alerts[0]!, text: 'north is down', state: 'firing' }
  const ended: Alert = { ...alert, state: 'resolved', resolvedAtMs: alert.sinceMs + 60_000 }
  let [streams, reads] = [0, 0]
  const url = await startServer((request, response) => {
    if (request.url?.includes('/events')) {
      streams += 1
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const batch = { cursor: `${streams}.a.1`, reset: false, changes: streams === 1 ? [] : [{ kind: 'alerts' }] }
      response.write(`event: message\ndata: ${JSON.stringify(batch)}\n\n`)
      // The first connection breaks, and the alert ends while the client is disconnected.
      if (streams < 3) setTimeout(() => response.destroy(), 50)
      return
    }
    reads += 1
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ alerts: [streams === 1 ? alert : ended], nextBefore: null }))
  })
  let slept = 0
  const sleep = async () => {
    slept += 1
    if (slept === 2) throw new Error('enough')
  }
  const { out } = await call(['alerts', '--follow'], { url, sleep })
  expect(out.replaceAll(/^[\d-]+ [\d:]+/gm, 'TIME')).toBe(
    [alert, ended]
      .map(({ severity, state }) => `TIME  ${severity.padEnd(8)}  ${state.padEnd(8)}  north is down\n`)
      .join('')
  )
  expect([streams, reads > 2]).toEqual([2, true])
})
