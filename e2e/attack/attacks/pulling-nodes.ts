import { randomBytes } from 'node:crypto'
import { uploadDemo } from '../../support/demo-egg.ts'
import type { Attack, Target } from '../attack.ts'

interface Command {
  kind: 'offer' | 'withdraw' | 'list' | 'ack' | 'cancel' | 'read'
  n: number
  id: number
  offset: number
  offer: { project: string; jobid: string; spider: string; egg: { sha256: string } }
}
type Stamp = { session: string; epoch: number }
type Answer = { status: number; body: Record<string, unknown> }

const EVIL_NAMES = ['../../../../etc', '..', 'a/../../b', 'a\0b', '-rf', '\u202eevil', '<img src=x>', '__proto__']
const listed = (project: string, jobid: string, endTime: string | null = null) => ({
  project,
  jobid,
  spider: project,
  pid: 1,
  startTime: '2026-11-29 10:00:00.000000',
  endTime,
  exitCode: endTime === null ? null : 0,
  exitSignal: null,
  isAcked: false
})
const LISTS = { claiming: [], pending: [], running: [], finished: [] }

/** Creates a node that uses the protocol of docs/pulling-nodes.md but sends arbitrary data. */
async function join({ watched: { service } }: Target, name: string) {
  const { node, token } = await service.client.nodes.addPulling({ name, slots: 1, tags: [name] })
  const post = async (path: string, body: object | Uint8Array, over: { token?: string } = {}): Promise<Answer> => {
    const type = body instanceof Uint8Array ? 'application/octet-stream' : 'application/json'
    const answer = await fetch(`${service.address}/api/node/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${over.token ?? token}`, 'content-type': type },
      body: body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body)
    })
    return { status: answer.status, body: (await answer.json()) as Answer['body'] }
  }
  const session = randomBytes(16).toString('hex')
  const opening = { protocol: 1, session, instance: session, lastEpoch: 0, isTakeover: true, journalSeconds: 1e9 }
  const opened = await post('open', { ...opening, hostname: '\u202evm', package: '1', scrapyd: '<b>', slots: 1 })
  const stamp: Stamp = { session, epoch: Number(opened.body['epoch']) }
  let acked = 0
  return {
    id: node.id,
    token,
    post,
    stamp,
    opening,
    /** Polls, responds to requests for lists and passes other commands to `on`. Returns how many arrived. */
    async play(forMs: number, on: (command: Command) => Promise<unknown>, lists: object = {}, timeMs = Date.now()) {
      const until = performance.now() + forMs
      const status = { pending: 0, running: 1, timeMs }
      let count = 0
      while (performance.now() < until) {
        const { body } = await post('poll', { ...stamp, acked, waitSeconds: 0.3, status })
        for (const command of (body['commands'] ?? []) as Command[]) {
          acked = Math.max(acked, command.n)
          count += 1
          if (command.kind !== 'list') await on(command)
          else await post('lists', { ...stamp, through: command.n, status, ...LISTS, ...lists })
        }
      }
      return count
    },
    egg: async (sha256: string) => {
      const url = `${service.address}/api/node/v1/eggs/${sha256}?session=${stamp.session}&epoch=${stamp.epoch}`
      return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status
    },
    leave: () => service.client.nodes.remove({ id: node.id, force: true } as never)
  }
}

type Joined = Awaited<ReturnType<typeof join>>

async function runOn({ watched: { service } }: Target, node: Joined, tag: string) {
  await uploadDemo(service, `pulled-by-${tag}`)
  const { jobs } = await service.client.jobs.run({ project: 'demo', spiders: ['quotes'], tags: [tag] } as never)
  let offer: Command['offer'] | null = null
  for (let tries = 0; offer === null && tries < 20; tries += 1)
    await node.play(500, async (command) => command.kind === 'offer' && (offer = command.offer))
  if (offer === null) throw new Error('the job was never offered')
  return { id: jobs[0]!.id, offer: offer as Command['offer'] }
}

const nothing = async () => {}

export const pullingNodeAttacks: Attack[] = [
  {
    name: 'a pulling node that takes the jobs of another, with a token of its own and with guessed ones',
    door: 'node',
    async run(target) {
      const { client } = target.watched.service
      const [holder, thief] = [await join(target, 'holder'), await join(target, 'thief')]
      const complaints: string[] = []
      // Earlier attacks can have used up the limit for unauthenticated requests from this address.
      const mustBeRefused = (what: string, status: number) => {
        if (status !== 401 && status !== 429) complaints.push(`${what}: ${status}`)
      }
      const mustBe = (what: string, got: unknown, wanted: unknown) => {
        if (JSON.stringify(got) !== JSON.stringify(wanted)) complaints.push(`${what}: ${JSON.stringify(got)}`)
      }
      try {
        await Promise.all([holder.play(1_000, nothing), thief.play(1_000, nothing)])
        const { id, offer } = await runOn(target, holder, 'holder')
        const run = { project: offer.project, jobid: offer.jobid }
        mustBe('its egg', await thief.egg(offer.egg.sha256), 404)
        const claim = async (node: Joined, stamp = node.stamp) =>
          (await node.post('claim', { ...stamp, runs: [run, run] })).body
        mustBe('its claim', await claim(thief), { verdicts: ['gone', 'gone'] })
        mustBe(
          'a claim with the session of the other',
          (await claim(thief, holder.stamp))['code'],
          'NODE_SESSION_UNKNOWN'
        )
        await thief.post('refuse', { ...thief.stamp, ...run, reason: 'bad_egg', message: 'x' })
        await thief.play(2_000, nothing, {
          finished: [listed(offer.project, offer.jobid, '2026-11-29 10:00:01.000000')]
        })
        const { job, attempts } = await client.jobs.get({ id })
        mustBe('the job', [job.state, attempts.length, attempts[0]?.nodeId], ['starting', 1, holder.id])
        mustBe('the claim of the holder', await claim(holder), { verdicts: ['granted', 'granted'] })
        for (const token of [
          holder.token.slice(0, -1) + (holder.token.endsWith('0') ? '1' : '0'),
          thief.token.replace(/n-[0-9a-f]{12}/, holder.id),
          holder.token.toUpperCase()
        ])
          mustBeRefused('a guessed token', (await thief.post('open', thief.opening, { token })).status)
        const { token } = await client.nodes.renewToken({ id: holder.id })
        mustBeRefused('a former token', (await holder.post('poll', holder.stamp)).status)
        const headers = { authorization: `Bearer ${token}` }
        const { status } = await fetch(`${target.attacker.address}/api/v1/nodes`, { headers })
        mustBeRefused('a node token at the API', status)
        return complaints
      } finally {
        await Promise.all([holder.leave(), thief.leave()])
      }
    }
  },
  {
    name: 'a pulling node whose answers are no answers, with lying offsets, names and clocks',
    door: 'node',
    isLong: true,
    async run(target) {
      const { client } = target.watched.service
      const node = await join(target, 'liar')
      const complaints: string[] = []
      try {
        await node.play(1_000, nothing)
        const { id, offer } = await runOn(target, node, 'liar')
        await node.post('claim', { ...node.stamp, runs: [offer] })
        const running = {
          running: [listed(offer.project, offer.jobid), ...EVIL_NAMES.map((name) => listed(name, name))]
        }
        await node.play(1_500, nothing, running)
        const { session, epoch } = node.stamp
        const send = (command: Command, where: string, bytes = 1) =>
          node.post(`data?session=${session}&epoch=${epoch}&id=${command.id}&${where}`, new Uint8Array(bytes))
        for (const lie of [
          ...[
            'offset=9007199254740991&size=0',
            'offset=5&size=10',
            'offset=0&size=0',
            'offset=0&size=9007199254740991'
          ],
          'answer'
        ]) {
          const reading = client.logs.read({ jobId: id, offset: 0, limitBytes: 1_000 }).then(
            () => 'read',
            ({ code }: { code: string }) => code
          )
          const asked = await node.play(
            1_500,
            async (command) => {
              if (command.kind !== 'read') return
              await (lie === 'answer' ? node.post('answer', { ...node.stamp, id: command.id }) : send(command, lie))
            },
            running
          )
          const said = await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 100, 'nothing'))])
          if (said === 'INTERNAL' || said === 'nothing') complaints.push(`a log with ${lie} was answered ${said}`)
          if (asked > 30) complaints.push(`a log with ${lie} was asked for ${asked} times`)
        }
        await client.jobs.cancel({ ids: [id], waitSeconds: 0 })
        const cancels = await node.play(3_000, (command) => send(command, 'none=1'), running)
        if (cancels > 40) complaints.push(`a cancel that was answered with a file was sent ${cancels} times in 3 s`)
        for (const timeMs of [1e308, -1e308, 8.64e15]) {
          await node.play(3_000, nothing, running, timeMs)
          await client.nodes.list({}).catch((error: unknown) => complaints.push(`the list of nodes: ${String(error)}`))
        }
        return complaints
      } finally {
        await node.leave()
      }
    }
  }
]
