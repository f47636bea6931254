import type { Attack } from '../attack.ts'
import type { Got } from '../attacker.ts'

const PLAN = '/api/v1/fleet-file/plan'
const answered = (what: string, { status }: Got, wanted: (status: number) => boolean) =>
  wanted(status) ? [] : [`${what}: answered ${status}`]
const isRefused = (status: number) => status >= 400 && status < 500

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1\n`).join('')
/** A list of ten aliases of a list of ten aliases, and so on: a small text with 10⁹ nodes. */
const bomb = () =>
  `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 9 }, (_, index) => `a${index + 1}: &a${index + 1} [${Array(10).fill(`*a${index}`).join(',')}]\n`).join('')}`

const FLEET_FILES: [string, () => string][] = [
  ['40,000 keys', () => `scrapdeck: 1\n${keys(40_000)}`],
  ['300,000 keys', () => `scrapdeck: 1\n${keys(300_000)}`],
  ['40,000 keys of one noun', () => `scrapdeck: 1\nprojects:\n${keys(40_000).replace(/^/gm, '  ')}`],
  ['lists 100,000 deep', () => `scrapdeck: 1\nnodes: ${nested(100_000)}`],
  [
    'maps 2,000 deep',
    () => `scrapdeck: 1\n${Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:\n`).join('')}`
  ],
  ['flow maps 500,000 deep', () => '{a: '.repeat(500_000)],
  ['aliases that multiply', bomb],
  ['one scalar of 3 MB', () => `scrapdeck: 1\nnodes: ${'x'.repeat(3_000_000)}`],
  ['a quoted scalar without an end', () => `scrapdeck: "${'\\\\'.repeat(1_500_000)}`],
  ['a million documents', () => '---\n'.repeat(1_000_000)],
  ['a million comments', () => '# x\n'.repeat(900_000)],
  ['a million anchors', () => `[${'&a x,'.repeat(600_000)}]`],
  ['tags', () => `[${'!!binary x,'.repeat(300_000)}]`]
]

export const documentAttacks: Attack[] = [
  ...FLEET_FILES.map(
    ([what, make]): Attack => ({
      name: `a fleet file with ${what}`,
      door: 'rest',
      run: async ({ attacker }) =>
        answered('the plan', await attacker.sendJson(PLAN, { yaml: make() }), (status) => status < 500)
    })
  ),
  ...['', 'a-key-of-the-attack'].map(
    (key): Attack => ({
      name: `JSON nested 1,000,000 deep${key && ' with an idempotency key'}`,
      door: 'rest',
      async run({ attacker }) {
        const headers: Record<string, string> = key === '' ? {} : { 'idempotency-key': key }
        const complaints: string[] = []
        for (const depth of [100, 5_000, 100_000, 1_000_000])
          for (const path of ['/api/v1/jobs', '/api/v1/jsonrpc', '/api/v1/crawl', '/crawl', '/api/rpc/jobs/run']) {
            const body = path.endsWith('crawl')
              ? `{"project":"demo","spider":"quotes","params":{"a":${nested(depth)}}}`
              : nested(depth)
            const got = await attacker.sendJson(path, body, { ...headers, 'x-depth': String(depth) })
            complaints.push(...answered(`${path} ${depth} deep`, got, (status) => status < 500))
          }
        return complaints
      }
    })
  ),
  {
    name: 'a JSON object with 300,000 keys, an array of 1,000,000 items, a number of a million digits',
    door: 'rest',
    async run({ attacker }) {
      const complaints: string[] = []
      for (const body of [
        `{${Array.from({ length: 300_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
        `[${'1,'.repeat(1_000_000)}1]`,
        '1'.repeat(1_000_000),
        `{"project":"demo","spiders":[${'"a",'.repeat(500_000)}"a"]}`,
        `{"project":"demo","spiders":["a"],"args":{${Array.from({ length: 200_000 }, (_, index) => `"k${index}":"v"`).join(',')}}}`
      ])
        for (const path of ['/api/v1/jobs', '/api/v1/jsonrpc', '/api/rpc/jobs/run'])
          complaints.push(...answered(path, await attacker.sendJson(path, body), (status) => status < 500))
      return complaints
    }
  },
  {
    name: 'an argument named __proto__ arrives or is refused by name, and pollutes nothing',
    door: 'rest',
    async run({ attacker }) {
      const body = '{"project":"demo","spiders":["quotes"],"args":{"__proto__":"polluted","constructor":"x"}}'
      const got = await attacker.sendJson('/api/v1/jobs', body)
      if (isRefused(got.status) && got.body.includes('__proto__')) return []
      const id = (JSON.parse(got.body) as { jobs?: { id: string }[] }).jobs?.[0]?.id
      if (id === undefined) return [`answered ${got.status} without naming __proto__: ${got.body.slice(0, 200)}`]
      const job = await attacker.send({ path: `/api/v1/jobs/${id}` })
      return job.body.includes('__proto__') ? [] : ['the argument vanished']
    }
  }
]
