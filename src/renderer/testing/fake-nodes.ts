import { implement } from '@orpc/server'
import { contract } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aNode } from '../../shared/testing/builders.ts'
import { fail, type FakeWorld, wait } from './fake-world.ts'

export function createFakeNodes({ nodes, random, stepMs, emit, nextNumber, nodeOf, saveNode, queueJob }: FakeWorld) {
  const os = implement(contract)
  return {
    list: os.nodes.list.handler(() => ({ nodes: [...nodes.values()] })),
    get: os.nodes.get.handler(({ input }) => nodeOf(input.id)),
    probe: os.nodes.probe.handler(async ({ input }) => {
      const url = new URL(/^https?:/.test(input.url) ? input.url : `http://${input.url}`)
      await wait(stepMs * (0.3 + random() * 0.7))
      const bad = /down|nowhere/.test(url.hostname)
      const locked = /locked/.test(url.hostname) && !input.password
      const duplicate = [...nodes.values()].find((node) => node.url !== '' && new URL(node.url).host === url.host)
      return {
        url: url.href,
        reachable: !bad,
        health: bad ? ('down' as const) : locked ? ('unauthorized' as const) : ('up' as const),
        problem: bad
          ? `Nothing answers at ${url.host}. Check the address and whether Scrapyd runs there.`
          : locked
            ? 'The node asks for a user name and a password.'
            : null,
        scrapydVersion: bad || locked ? null : '1.6',
        nodeName: bad || locked ? null : url.hostname.split('.')[0]!,
        running: bad || locked ? null : 1,
        pending: bad || locked ? null : 0,
        projects: bad || locked ? [] : ['prices', 'news'],
        latencyMs: bad ? null : 14,
        clockOffsetMs: bad ? null : 2,
        warnings: !bad && url.protocol === 'http:' ? ['The connection is not encrypted.'] : [],
        duplicateOf: duplicate?.id ?? null,
        keepsPassword: null
      }
    }),
    add: os.nodes.add.handler(({ input }) => {
      const host = new URL(input.url).hostname
      const name = input.name ?? (host.split('.')[0] as string)
      return saveNode(
        aNode({
          id: `n${nextNumber()}`,
          name,
          url: input.url,
          username: input.username ?? null,
          hasPassword: Boolean(input.password),
          slots: input.slots ?? 4,
          slotsSource: input.slots ? 'set' : 'default',
          tags: input.tags ?? [],
          queueAhead: input.queueAhead ?? 0,
          giveUpAfterSeconds: input.giveUpAfterSeconds ?? null,
          logsKept: input.logsKept ?? null,
          group: input.group ?? null,
          proxyUrl: input.proxyUrl ?? null,
          addedAtMs: Date.now(),
          finished: 0
        })
      )
    }),
    addPulling: os.nodes.addPulling.handler(({ input }) => {
      const id = `n-${String(nextNumber()).padStart(12, '0')}`
      const node = saveNode(
        aNode({
          id,
          name: input.name,
          kind: 'pulling',
          url: `pull:${id}`,
          username: null,
          hasPassword: false,
          hasToken: true,
          tags: input.tags ?? [],
          group: input.group ?? null,
          health: 'down',
          runs: [],
          problem: `${input.name} has not asked for jobs since Scrapdeck started.`,
          addedAtMs: Date.now(),
          finished: 0
        })
      )
      return { node, token: tokenOf(id) }
    }),
    renewToken: os.nodes.renewToken.handler(({ input }) => ({
      node: saveNode({ ...nodeOf(input.id), hasToken: true }),
      token: tokenOf(input.id)
    })),
    revokeToken: os.nodes.revokeToken.handler(({ input }) => saveNode({ ...nodeOf(input.id), hasToken: false })),
    update: os.nodes.update.handler(({ input }) => {
      const { id, name, slots, tags, url, username, password, clientCertificate, proxyUrl } = input
      const node = nodeOf(id)
      return saveNode({
        ...node,
        queueAhead: input.queueAhead ?? node.queueAhead,
        logsKept: input.logsKept === undefined ? node.logsKept : input.logsKept,
        giveUpAfterSeconds: input.giveUpAfterSeconds === undefined ? node.giveUpAfterSeconds : input.giveUpAfterSeconds,
        group: input.group === undefined ? node.group : input.group,
        hasClientCertificate: clientCertificate === undefined ? node.hasClientCertificate : clientCertificate !== null,
        proxyUrl: proxyUrl === undefined ? node.proxyUrl : proxyUrl,
        name: name ?? node.name,
        slots: slots ?? node.slots,
        slotsSource: slots ? 'set' : node.slotsSource,
        tags: tags ?? node.tags,
        url: url ?? node.url,
        username: username === undefined ? node.username : username,
        hasPassword: password === undefined ? node.hasPassword : password !== null
      })
    }),
    setMode: os.nodes.setMode.handler(({ input }) => saveNode({ ...nodeOf(input.id), mode: input.mode })),
    remove: os.nodes.remove.handler(({ input }) => {
      const node = nodeOf(input.id)
      const live = node.runs.filter((run) => run.jobId !== null).length
      if (live > 0 && !input.force)
        throw new ScrapdeckError(
          'NODE_BUSY',
          `${node.name} still runs ${live} jobs. Drain it first, or remove it and let them be marked lost.`
        )
      nodes.delete(input.id)
      emit({ kind: 'node_removed', id: input.id })
      return { removed: input.id }
    }),
    cancelExternal: os.nodes.cancelExternal.handler(({ input }) => {
      const node = nodeOf(input.id)
      const isThere = node.runs.some(({ jobid }) => jobid === input.jobid)
      saveNode({ ...node, runs: node.runs.filter(({ jobid }) => jobid !== input.jobid) })
      return { wasState: isThere ? ('running' as const) : null }
    }),
    adoptExternal: os.nodes.adoptExternal.handler(({ input }) => {
      const node = nodeOf(input.id)
      const run =
        node.runs.find(({ jobid }) => jobid === input.jobid) ??
        fail(new ScrapdeckError('NOT_FOUND', `${node.name} lists no job ${input.jobid} any more.`))
      const job = queueJob({
        jobid: run.jobid,
        project: run.project,
        spider: run.spider,
        source: 'adopted',
        state: 'running',
        status: 'running',
        waiting: null,
        nodeId: node.id,
        attemptCount: 1,
        startedAtMs: run.sinceMs
      })
      saveNode({ ...node, runs: node.runs.map((each) => (each === run ? { ...run, jobId: job.id } : each)) })
      return job
    })
  }
}

const tokenOf = (id: string) => `sdn_${id}_${'0'.repeat(64)}`
