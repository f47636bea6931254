import type { Attack } from '../attack.ts'
import type { Got } from '../attacker.ts'

const LONG = 'x'.repeat(200_000)
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/**
 * The maximum size of a response. Responses must not repeat long input, because that would amplify attacks and fill
 * logs.
 */
const MAX_ERROR_BYTES = 20_000

function judge(what: string, { status, bytes }: Got): string[] {
  return [
    ...(status >= 500 ? [`${what}: answered ${status}`] : []),
    ...(bytes > MAX_ERROR_BYTES ? [`${what}: answered ${bytes} bytes`] : [])
  ]
}

export const nameAttacks: Attack[] = [
  {
    name: 'project, spider, version and job names of 200 KB in forms of the Scrapyd API',
    door: 'scrapyd',
    async run({ attacker }) {
      const complaints: string[] = []
      for (const endpoint of ['schedule', 'cancel', 'delproject', 'delversion', 'addversion'])
        for (const field of ['project', 'spider', 'version', '_version', 'job', 'jobid', 'setting', 'priority', LONG]) {
          const body = new URLSearchParams({ project: 'demo', spider: 'quotes', [field]: LONG }).toString()
          const got = await attacker.send({ method: 'POST', path: `/${endpoint}.json`, headers: FORM, body })
          complaints.push(...judge(`${endpoint}.json with a long ${field.slice(0, 10)}`, got))
        }
      return complaints
    }
  },
  {
    name: 'names of 200 KB in paths and queries',
    door: 'http',
    async run({ attacker }) {
      const complaints: string[] = []
      for (const prefix of ['/listspiders.json?project=', '/listjobs.json?project=', '/status.json?job=', '/logs/'])
        for (const length of [2_000, 15_000, 200_000])
          complaints.push(
            ...judge(prefix, await attacker.send({ path: `${prefix}${'x'.repeat(length)}` })),
            ...judge(prefix, await attacker.send({ path: `/ui/login?token=${'x'.repeat(length)}`, anonymous: true }))
          )
      return complaints
    }
  },
  {
    name: 'names of 200 KB over REST and in batches of a hundred over JSON-RPC',
    door: 'json-rpc',
    async run({ attacker }) {
      const input = { project: 'demo', spiders: ['quotes'] }
      const complaints: string[] = []
      for (const spoiled of [
        { ...input, project: LONG },
        { ...input, spiders: [LONG] },
        { ...input, version: LONG },
        { ...input, tags: [LONG] },
        { ...input, args: { [LONG]: LONG } },
        { ...input, [LONG]: 1 }
      ])
        complaints.push(...judge('POST /jobs', await attacker.sendJson('/api/v1/jobs', spoiled)))
      const short = LONG.slice(0, 30_000)
      const calls = Array.from({ length: 100 }, (_, id) => ({
        jsonrpc: '2.0',
        id,
        method: 'jobs.run',
        params: { project: `${short}${id}`, spiders: [short] }
      }))
      const got = await attacker.sendJson('/api/v1/jsonrpc', calls)
      return [...complaints, ...(got.status >= 500 ? [`the batch: answered ${got.status}`] : [])]
    }
  }
]
