import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Attack, Target } from '../attack.ts'
import { AUTHORIZATION } from '../attacker.ts'

/** The time limit for responses to other clients during the attack. */
const OTHERS_LIMIT_MS = 2_000
/** The time after which the service must have closed half-sent requests without credentials. */
const CLOSED_LIMIT_MS = 40_000

async function holdOpen(target: Target, [line, rest]: [string, string], wanted: number): Promise<string[]> {
  const { attacker } = target
  const beginning = `${line} HTTP/1.1\r\nHost: ${attacker.host}\r\n${rest}`
  const count = Math.ceil(wanted * target.scale)
  const sockets: Socket[] = []
  let closed = 0
  try {
    for (let index = 0; index < count; index += 1) {
      try {
        const socket = await attacker.open()
        socket.on('close', () => (closed += 1))
        socket.resume()
        socket.write(beginning)
        sockets.push(socket)
      } catch {
        // The service limits its connections and refused this one.
        closed += 1
      }
    }
    const askedAtMs = performance.now()
    const complaints: string[] = []
    try {
      await attacker.send({ path: '/daemonstatus.json' })
      const tookMs = performance.now() - askedAtMs
      if (tookMs > OTHERS_LIMIT_MS) complaints.push(`others waited ${Math.round(tookMs)} ms`)
    } catch (error) {
      complaints.push(`others were not answered: ${String(error)}`)
    }
    const limit = performance.now() + CLOSED_LIMIT_MS
    while (closed < count && performance.now() < limit) await pause(100)
    if (closed < count)
      complaints.push(`${count - closed} of ${count} connections are open after ${CLOSED_LIMIT_MS / 1000} s`)
    return complaints
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

const heldOpen: Attack[] = [
  {
    name: '20,000 logins whose form is never sent whole',
    door: 'ui',
    run: (target) =>
      holdOpen(
        target,
        ['POST /ui/login', 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nuser'],
        20_000
      )
  },
  {
    name: '20,000 requests whose headers are never sent whole',
    door: 'http',
    run: (target) => holdOpen(target, ['GET /daemonstatus.json', 'X-'], 20_000)
  },
  {
    name: '2,000 uploads by strangers that never end',
    door: 'scrapyd',
    run: (target) =>
      holdOpen(
        target,
        [
          'POST /addversion.json',
          'Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 200000000\r\n\r\n--x\r\n'
        ],
        2_000
      )
  }
]

export const connectionAttacks: Attack[] = [
  ...heldOpen.map((attack) => ({ ...attack, isLong: true })),
  {
    name: 'logins, headers and uploads that are never sent whole, all at once',
    door: 'http',
    run: async (target) => (await Promise.all(heldOpen.map(({ run }) => run(target)))).flat()
  },
  ...[
    { who: 'a stranger', authorization: '' },
    { who: 'a client', authorization: `Authorization: ${AUTHORIZATION}\r\n` }
  ].map(
    ({ who, authorization }): Attack => ({
      name: `60,000 requests of ${who}, sent ahead on one connection`,
      door: 'http',
      async run({ attacker, scale }) {
        // At least 3,000 requests, which fill two packets. Node emits all requests of one packet together.
        const count = Math.max(3_000, 60_000 * scale)
        const ask = `GET /x HTTP/1.1\r\nHost: ${attacker.host}\r\n${authorization}\r\n`
        const sent = attacker.sendRaw(ask.repeat(count), 5_000)
        await pause(20)
        const got = await attacker.send({ path: '/daemonstatus.json' })
        const answers = (await sent).split('HTTP/1.1 ').length - 1
        return [
          ...(got.status === 200 ? [] : [`others were answered ${got.status}`]),
          ...(answers < 1_000 ? [] : [`${answers} were answered`])
        ]
      }
    })
  ),
  {
    name: 'a client that asks for much and reads nothing',
    door: 'http',
    async run({ attacker, watched }) {
      const sockets: Socket[] = []
      const ask = `GET /api/openapi.json HTTP/1.1\r\nHost: ${attacker.host}\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`
      for (let index = 0; index < 20; index += 1) {
        const socket = await attacker.open()
        socket.pause()
        socket.write(ask.repeat(200))
        sockets.push(socket)
      }
      await pause(3_000)
      const got = await attacker.send({ path: '/daemonstatus.json' })
      for (const socket of sockets) socket.destroy()
      return got.status === 200 && watched.isRunning() ? [] : [`others were answered ${got.status}`]
    }
  },
  {
    name: 'requests whose end can be read in two ways',
    door: 'http',
    async run({ attacker }) {
      const head = `POST /cancel.json HTTP/1.1\r\nHost: ${attacker.host}\r\nAuthorization: ${AUTHORIZATION}\r\n`
      const hidden = `GET /daemonstatus.json HTTP/1.1\r\nHost: ${attacker.host}\r\nAuthorization: ${AUTHORIZATION}\r\n\r\n`
      const chunked = `0\r\n\r\n${hidden}`
      const long = `Content-Length: ${chunked.length}\r\n`
      const complaints: string[] = []
      const plain = await attacker.sendRaw(`${head}Content-Length: 0\r\n\r\n${hidden}`, 500)
      if ((plain.match(/^HTTP\/1\.1 200/gm) ?? []).length !== 2) complaints.push(`what is clear: ${plain.slice(0, 80)}`)
      for (const [lines, body] of [
        [`${long}Transfer-Encoding: chunked\r\n`, chunked],
        [`Transfer-Encoding: chunked\r\n${long}`, chunked],
        ...['Transfer-Encoding : chunked', 'Transfer-Encoding:\r\n chunked', 'Transfer-Encoding: xchunked'],
        ...['Transfer-Encoding: chunked, identity', 'Transfer-Encoding: \vchunked', 'Transfer-Encoding: "chunked"'],
        ...['Transfer-Encoding: identity\r\nTransfer-Encoding: chunked', 'X: a\r\nTransfer-Encoding: chunked\r\n\tb'],
        ...['Transfer-Encoding: chunked\n', 'X: a\nTransfer-Encoding: chunked', 'X: a\rTransfer-Encoding: chunked']
      ].map((one) => (typeof one === 'string' ? [`${long}${one}\r\n`, chunked] : one)) as [string, string][]) {
        await judge(`${lines}\r\n${body}`)
      }
      for (const length of [
        '0\r\nContent-Length: 5',
        '0, 5',
        '+0',
        '0x0',
        '0 5',
        '00\r\nContent-Length: 7',
        '\v0',
        '-0'
      ])
        await judge(`Content-Length: ${length}\r\n\r\n${hidden}`)
      for (const size of ['0x0', '+0', '0 ;', '0;\n', '-0', ' 0'])
        await judge(`Transfer-Encoding: chunked\r\n\r\n${size}\r\n\r\n${hidden}`)
      return complaints

      async function judge(rest: string): Promise<void> {
        const got = await attacker.sendRaw(head + rest, 150)
        const answers = got.match(/^HTTP\/1\.1 \d+/gm) ?? []
        const isRefused = answers.length <= 1 && /^HTTP\/1\.1 4/.test(answers[0] ?? 'HTTP/1.1 4')
        if (!isRefused) complaints.push(`${JSON.stringify(rest.slice(0, 80))}: ${answers.join(', ')}`)
      }
    }
  },
  {
    name: 'malformed HTTP',
    door: 'http',
    async run({ attacker }) {
      const complaints: string[] = []
      const head = `Host: ${attacker.host}\r\nAuthorization: ${AUTHORIZATION}\r\n`
      for (const bytes of [
        '\0'.repeat(100_000),
        `GET ${'/'.repeat(100_000)} HTTP/1.1\r\n${head}\r\n`,
        `GET / HTTP/1.1\r\n${head}${'X-A: b\r\n'.repeat(20_000)}\r\n`,
        `GET / HTTP/1.1\r\n${head}X: ${'a'.repeat(500_000)}\r\n\r\n`,
        `POST /schedule.json HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n`,
        `POST /schedule.json HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
        `POST /schedule.json HTTP/1.1\r\n${head}Content-Length: -1\r\n\r\n`,
        `POST /schedule.json HTTP/1.1\r\n${head}Content-Length: 99999999999999999999\r\n\r\n`,
        `POST /api/v1/jobs HTTP/1.1\r\n${head}Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
        `CONNECT example.com:443 HTTP/1.1\r\n${head}\r\n`,
        `TRACE / HTTP/1.1\r\n${head}\r\n`,
        `GET / HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
        `GET http://169.254.169.254/latest HTTP/1.1\r\n${head}\r\n`,
        `GET /%c0%ae%c0%ae/%2e%2e/%00 HTTP/1.1\r\n${head}\r\n`,
        `GET /logs/..%2f..%2f..%2fetc/passwd HTTP/1.1\r\n${head}\r\n`,
        `GET /ui/..%5c..%5cpackage.json HTTP/1.1\r\n${head}\r\n`,
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
      ]) {
        const got = await attacker.sendRaw(bytes, 250)
        const what = JSON.stringify(bytes.slice(0, 60))
        if (/^HTTP\/1\.1 5(?!01|05)/.test(got)) complaints.push(`${what}: ${got.slice(0, 60)}`)
        if (/root:.*:0:0/.test(got) || got.includes('"devDependencies"')) complaints.push(`${what}: a file came back`)
      }
      return complaints
    }
  }
]
