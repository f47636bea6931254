import { createSeededRandom } from '../../../src/engine/testing/seeded-random.ts'
import { reporterEgg } from '../eggs.ts'
import { get, post, postForm, postMultipart, type Request } from '../http.ts'
import type { Pair } from '../pair.ts'
import type { Scenario } from './scenario.ts'

const REQUESTS_IN_A_SEQUENCE = 45
const PROJECTS = ['a', 'b', 'a b']
const VERSIONS = ['1', '2', '10', '1rc1']
const SPIDERS = ['report', 'extra', 'nobody']
const ODD_VALUES = ['', ' ', '0', 'ü', 'a;b', 'a&b=c', '%', '+', '../x', 'x'.repeat(300), '\n', '"']

interface Waiting {
  project: string
  jobid: string
  version: string | undefined
}

/**
 * Random requests that use only a few names, so they interact: one adds what another reads and a third deletes. The
 * only slot is held until the end, so scheduled jobs wait. Avoids cases of other scenarios: deletes no project with
 * waiting jobs, and starts no job without its version.
 */
export function generatedScenario(seed: number): Scenario {
  return {
    name: `generated, seed ${seed}`,
    async run(pair) {
      await runSequence(pair, seed)
    }
  }
}

async function runSequence(pair: Pair, seed: number): Promise<void> {
  const random = createSeededRandom(seed)
  const number = (below: number) => Math.floor(random.next() * below)
  const pick = <Value>(values: readonly Value[]): Value => values[number(values.length)]!
  const chance = (share: number) => random.next() < share
  const eggs = { plain: await reporterEgg(), extra: await reporterEgg(['extra']) }
  const stored = new Map<string, Map<string, Buffer>>()
  let waiting: Waiting[] = []
  const jobids = ['j1', 'j2', 'j 3'].map((name) => `${name}-${seed}`)
  const gate = `gate-${seed}`

  const upload = (project: string, version: string, egg: Buffer) =>
    postMultipart('addversion.json', [
      ['project', project],
      ['version', version],
      ['egg', egg]
    ])
  await pair.ask(upload('gate', '1', eggs.plain))
  await pair.hold('gate', gate)

  const send = (endpoint: string, fields: [string, string][]): Request => {
    const form = new URLSearchParams(fields).toString()
    const way = number(5)
    if (way === 0) return { method: 'POST', path: `/${endpoint}?${form}` }
    if (way === 1) return postMultipart(endpoint, fields)
    if (way === 2) return postForm(endpoint, form.replaceAll('&', ';'))
    if (way === 3 && fields.length > 1) {
      const [first, ...rest] = fields
      return { ...post(endpoint, rest), path: `/${endpoint}?${new URLSearchParams([first!])}` }
    }
    return postForm(endpoint, form)
  }
  const query = (endpoint: string, fields: [string, string][]) => get(`/${endpoint}?${new URLSearchParams(fields)}`)
  const maybe = (name: string, value: string, share = 0.9): [string, string][] => (chance(share) ? [[name, value]] : [])
  const project = () => (chance(0.04) ? pick(ODD_VALUES.slice(1)) : pick(PROJECTS))
  const jobid = () => (chance(0.04) ? pick(['none', 'ü']) : pick(jobids))

  const addVersion = async () => {
    const name = pick(PROJECTS)
    const version = pick(VERSIONS)
    if (chance(0.2)) return pair.ask(upload(name, version, Buffer.from('no zip')))
    const egg = chance(0.5) ? eggs.plain : eggs.extra
    await pair.ask(upload(name, version, egg))
    if (!stored.has(name)) stored.set(name, new Map())
    stored.get(name)!.set(version, egg)
  }

  const cancel = async (name: string, job: string) => {
    await pair.ask(
      send('cancel.json', [
        ['project', name],
        ['job', job]
      ])
    )
    waiting = waiting.filter((other) => other.project !== name || other.jobid !== job)
  }
  const cancelAllOf = async (name: string) => {
    for (const job of waiting.filter((other) => other.project === name)) await cancel(name, job.jobid)
  }

  const actions: [number, () => Promise<unknown>][] = [
    [6, addVersion],
    [
      30,
      async () => {
        const name = project()
        const job = jobid()
        const version = chance(0.3) ? pick(VERSIONS) : undefined
        const spider = chance(0.8) ? 'report' : pick(SPIDERS)
        const fields: [string, string][] = [
          ...maybe('project', name, 0.97),
          ...maybe('spider', spider, 0.97),
          ['jobid', job],
          ...(version === undefined ? [] : ([['_version', version]] as [string, string][])),
          ...(chance(0.4) ? ([['priority', pick(['0', '1', '2.5', '-1', ' 1 ', 'x', ''])]] as [string, string][]) : []),
          ...(chance(0.3) ? ([['setting', pick(['A=1', 'A=2', 'B=x=y', 'C', '=v'])]] as [string, string][]) : []),
          ...(chance(0.3) ? ([['setting', pick(['A=3', 'D=ü'])]] as [string, string][]) : []),
          ...(chance(0.4) ? ([[pick(['x', 'y', 'z']), pick(ODD_VALUES)]] as [string, string][]) : [])
        ]
        const { theirs } = await pair.ask(send('schedule.json', fields))
        if (theirs.body.includes('"ok"')) waiting.push({ project: name, jobid: job, version })
      }
    ],
    [8, async () => cancel(pick(PROJECTS), jobid())],
    [2, async () => pair.ask(send('cancel.json', [...maybe('project', project(), 0.5), ...maybe('signal', 'KILL')]))],
    [
      4,
      async () => {
        const name = pick(PROJECTS)
        const version = pick(VERSIONS)
        const versions = stored.get(name)
        const isLast = versions?.size === 1 && versions.has(version)
        if (isLast) await cancelAllOf(name)
        await pair.ask(send('delversion.json', [['project', name], ...maybe('version', version, 0.95)]))
        // The field can be missing from the request, so the version can still exist.
        const listed = JSON.parse(
          (await pair.ask(query('listversions.json', [['project', name]]))).theirs.body.toString()
        )
        if (!listed.versions.includes(version)) versions?.delete(version)
        if (versions?.size === 0) stored.delete(name)
      }
    ],
    [
      2,
      async () => {
        const name = pick(PROJECTS)
        await cancelAllOf(name)
        await pair.ask(send('delproject.json', [['project', name]]))
        stored.delete(name)
      }
    ],
    [6, async () => pair.ask(query('listversions.json', maybe('project', project())))],
    [
      8,
      async () =>
        pair.ask(query('listspiders.json', [...maybe('project', project()), ...maybe('_version', pick(VERSIONS), 0.4)]))
    ],
    [10, async () => pair.ask(query('status.json', [...maybe('job', jobid()), ...maybe('project', project(), 0.6)]))],
    [10, async () => pair.ask(query('listjobs.json', maybe('project', project(), 0.8)))],
    [4, async () => pair.ask(get('/daemonstatus.json'))],
    [4, async () => pair.ask(get('/listprojects.json'))],
    [3, async () => pair.ask(get('/jobs'))],
    [1, async () => pair.ask(get('/'))],
    [
      3,
      async () => pair.ask({ method: pick(['PUT', 'DELETE', 'POST', 'GET', 'OPTIONS']), path: `/${pick(ENDPOINTS)}` })
    ]
  ]
  const weightOfAll = actions.reduce((sum, [weight]) => sum + weight, 0)
  const act = async () => {
    let left = number(weightOfAll)
    for (const [weight, action] of actions) {
      left -= weight
      if (left < 0) return action()
    }
  }

  await addVersion()
  for (let count = 0; count < REQUESTS_IN_A_SEQUENCE; count++) await act()

  const runnable = (job: Waiting) => job.version === undefined || stored.get(job.project)?.has(job.version)
  const lucky = chance(0.3) ? waiting.find(runnable)?.project : undefined
  for (const job of waiting
    .filter(
      (other) =>
        other.project !== lucky ||
        !waiting.filter((twin) => twin.jobid === other.jobid && twin.project === lucky).every(runnable)
    )
    .slice()) {
    await cancel(job.project, job.jobid)
  }
  await pair.ask(get('/listjobs.json'))
  pair.release(gate)
  await pair.untilEnded(gate)
  await pair.askAll([
    ...jobids.map((job) => query('status.json', [['job', job]])),
    get('/daemonstatus.json'),
    get('/listjobs.json')
  ])
}

const ENDPOINTS = [
  'daemonstatus.json',
  'listprojects.json',
  'listjobs.json',
  'schedule.json',
  'cancel.json',
  'none.json'
]
