import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { uploadDemo } from '../../support/demo-egg.ts'
import type { Attack, Target } from '../attack.ts'

type Answers = Record<string, string | (() => string)>

/** The time limit for removing the node, and for uploads to other projects while it is in the fleet. */
const LONGEST_MS = 5_000

const STATUS = JSON.stringify({ status: 'ok', node_name: 'evil', pending: 0, running: 1, finished: 100 })
const many = <Item>(count: number, make: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => make(index))
const id = (index: number) => index.toString(16).padStart(32, '0')
const job = (index: number) => ({
  id: id(index),
  project: `p${index % 1_000}`,
  spider: 's'.repeat(200),
  pid: index,
  start_time: '2026-11-22 00:00:00.000000',
  end_time: '2026-11-22 00:00:01.000000'
})
const ok = (fields: object) => JSON.stringify({ status: 'ok', node_name: 'evil', ...fields })

async function admit({ attacker, watched }: Target, answers: Answers): Promise<string[]> {
  const server = createServer((request, response) => {
    const path = request.url!.split('?', 1)[0]!.slice(1)
    response.writeHead(200, { 'content-type': 'application/json' })
    const answer = answers[path] ?? ok({})
    response.end(typeof answer === 'string' ? answer : answer())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { client } = watched.service
  try {
    const node = await client.nodes.add({ url, slots: 2 })
    await pause(8_000)
    const got = await attacker.send({ path: '/daemonstatus.json' })
    const uploadMs = await timeOf(uploadDemo(watched.service, `beside-${node.id}`))
    const removalMs = await timeOf(
      client.nodes.remove({ id: node.id, force: true } as Parameters<typeof client.nodes.remove>[0])
    )
    return [
      ...(uploadMs < LONGEST_MS ? [] : [`an upload took ${Math.round(uploadMs)} ms`]),
      ...(removalMs < LONGEST_MS ? [] : [`its removal took ${Math.round(removalMs)} ms`]),
      ...(got.status === 200 ? [] : [`others were answered ${got.status}`])
    ]
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

async function timeOf(work: Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now()
  await work
  return performance.now() - startedAtMs
}

function flapping(): Answers {
  let [finished, round] = [1_000_000, 0]
  return {
    'daemonstatus.json': () => ok({ pending: 0, running: 0, finished: (finished -= 1) }),
    'listprojects.json': ok({ projects: ['flapping'] }),
    'listversions.json': () => {
      round += 1
      return ok({ versions: many(5_000, (index) => `${round}.${index}`) })
    },
    'listspiders.json': ok({ spiders: ['s'] })
  }
}

const jobs = (count: number) => ok({ pending: [], running: many(count, job), finished: many(count, job) })

const NODES: Record<string, () => Answers> = {
  'with 200,000 projects': () => ({
    'listprojects.json': ok({ projects: many(200_000, (index) => `project-${index}`) })
  }),
  'with 60,000 jobs of strangers': () => ({
    'listprojects.json': ok({ projects: ['p0'] }),
    'listjobs.json': jobs(30_000)
  }),
  'with 100,000 versions and spiders of each project': () => ({
    'listprojects.json': ok({ projects: many(50, (index) => `p${index}`) }),
    'listversions.json': ok({ versions: many(100_000, (index) => `v${index}`) }),
    'listspiders.json': ok({ spiders: many(100_000, (index) => `s${index}`) })
  }),
  'that lists 5,000 other versions at every poll': flapping,
  'whose answers are JSON nested 1,000,000 deep': () => {
    const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`
    return { 'daemonstatus.json': deep, 'listprojects.json': deep, 'listjobs.json': deep }
  }
}

export const hostileNodeAttacks: Attack[] = [
  ...Object.entries(NODES).map(
    ([what, answers]): Attack => ({
      name: `a node ${what}`,
      door: 'node',
      isLong: true,
      run: (target) => admit(target, { 'daemonstatus.json': STATUS, ...answers() })
    })
  ),
  {
    name: 'all these nodes at once',
    door: 'node',
    async run(target) {
      const each = Object.values(NODES).map((answers) => admit(target, { 'daemonstatus.json': STATUS, ...answers() }))
      return (await Promise.all(each)).flat()
    }
  },
  {
    name: 'a list of 9,000 nodes where nothing listens',
    door: 'rest',
    isLong: true,
    async run({ watched }) {
      const { client } = watched.service
      type Source = Parameters<typeof client.discovery.put>[0]
      const nodes = many(9_000, (index) => `http://127.0.0.1:1/${index}`).join('\n')
      const source = { id: 'attack', source: { kind: 'list', nodes }, refreshSeconds: 5 } as Source
      const { problem } = await client.discovery.put(source)
      await pause(5_000)
      const descriptors = watched.descriptors()
      await client.discovery.remove({ id: source.id })
      const found = (await client.nodes.list()).nodes.filter(({ url }) => url.startsWith('http://127.0.0.1:1/'))
      for (let from = 0; from < found.length; from += 50) {
        await Promise.all(found.slice(from, from + 50).map(({ id }) => client.nodes.remove({ id, force: true })))
      }
      return [
        ...(found.length <= 2_000 ? [] : [`it made ${found.length} nodes`]),
        ...(problem?.includes('not added') ? [] : ['what was left out is no problem of the source']),
        ...(descriptors < 1_000 ? [] : [`${descriptors} descriptors were open`])
      ]
    }
  }
]
