import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { IncomingFile } from '../../engine/storage/blobs/incoming-files.ts'
import type { FleetAsScrapyd } from '../../engine/api/scrapyd-commands/scrapyd-commands.ts'
import type { ScrapydJobs, ScrapydOrder, ScrapydSpider } from '../../engine/api/scrapyd-commands/scrapyd-shapes.ts'
import { ScrapdeckError } from '../../shared/errors.ts'

/** 2026-01-02 03:04:05.9 UTC. All files have this time. */
const FILES_MODIFIED_AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 900)

export function createFakeScrapyd() {
  const versions = new Map<string, Map<string, string[]>>()
  const files = { logs: new Map<string, Buffer>(), items: new Map<string, Buffer>() }
  const signals: (string | number | null)[] = []
  const scheduled: (ScrapydSpider & ScrapydOrder)[] = []
  const uploads: { name: string; sha256: string; sizeBytes: number }[] = []
  const jobs: ScrapydJobs = { pending: [], running: [], finished: [], isOfStore: true }

  const spidersOf = (project: string, version: string | null): string[] => {
    const known = versions.get(project)
    if (known === undefined)
      throw new ScrapdeckError('PROJECT_NOT_FOUND', `No node and no upload has the project ${project}.`)
    const spiders = version === null ? [...known.values()].at(-1) : known.get(version)
    if (spiders === undefined) throw new ScrapdeckError('VERSION_NOT_FOUND', `${project} has no version ${version}.`)
    return spiders
  }

  const scrapyd: FleetAsScrapyd = {
    nodeName: 'fake',
    async daemonStatus() {
      return { pending: jobs.pending.length, running: jobs.running.length, finished: jobs.finished.length }
    },
    async addVersion(project, version, egg) {
      const bytes = egg instanceof Uint8Array ? egg : await readFile(egg instanceof IncomingFile ? egg.path : egg)
      if (!Buffer.from(bytes).subarray(0, 2).equals(Buffer.from('PK'))) {
        throw new ScrapdeckError('EGG_NOT_A_ZIP', 'The file is not an egg: it is not a zip archive.')
      }
      uploads.push({ name: `${project}/${version}`, sha256: sha256(bytes), sizeBytes: bytes.length })
      const known = versions.get(project) ?? new Map<string, string[]>()
      versions.set(project, known.set(version, ['quotes', 'slow']))
      return { spiders: 2, pinned: null }
    },
    async schedule({ project, version, spider }, readOrder) {
      if (!spidersOf(project, version).includes(spider)) {
        throw new ScrapdeckError('SPIDER_NOT_FOUND', `${project} has no spider ${spider}.`)
      }
      const order = readOrder()
      scheduled.push({ project, spider, version, ...order })
      const jobid = order.jobid ?? String(scheduled.length).padStart(32, '0')
      const { settings, args } = order
      jobs.pending.push({ jobid, project, spider, version, settings, args })
      return { jobid }
    },
    async cancel({ project, jobid, signal }) {
      spidersOf(project, null)
      if (jobs.running.some((job) => job.jobid === jobid)) {
        if (signal !== null && 'refuse' in signal) throw new ScrapdeckError('BAD_INPUT', signal.refuse)
        signals.push(signal === null ? null : signal.send)
        return { prevstate: 'running' }
      }
      const index = jobs.pending.findIndex((job) => job.jobid === jobid)
      if (index === -1) return { prevstate: null }
      jobs.pending.splice(index, 1)
      return { prevstate: 'pending' }
    },
    async status({ jobid, project }) {
      if (project !== null) spidersOf(project, null)
      return { currstate: jobs.pending.some((job) => job.jobid === jobid) ? 'pending' : null }
    },
    requireProject: (project) => void spidersOf(project, null),
    async listProjects() {
      return [...versions.keys()]
    },
    async listVersions(project) {
      return [...(versions.get(project)?.keys() ?? [])]
    },
    async listSpiders(project, version) {
      return spidersOf(project, version)
    },
    async listJobs(project) {
      if (project !== null) spidersOf(project, null)
      return jobs
    },
    async deleteVersion(project, version) {
      if (!versions.get(project)?.delete(version))
        throw new ScrapdeckError('VERSION_NOT_FOUND', 'There is no such version.')
    },
    async deleteProject(project) {
      if (!versions.delete(project)) throw new ScrapdeckError('PROJECT_NOT_FOUND', 'There is no such project.')
    },
    async openFile(tree, segments) {
      const path = segments.join('/')
      const file = files[tree].get(path)
      if (file !== undefined) {
        return {
          kind: 'file',
          sizeBytes: file.length,
          modifiedAtMs: FILES_MODIFIED_AT_MS,
          read: (start, stop) => Readable.from([file.subarray(start, stop)], { objectMode: false })
        }
      }
      const below = [...files[tree].keys()].filter((name) => path === '' || name.startsWith(`${path}/`))
      if (below.length === 0) return null
      const steps = below.map((name) => name.split('/').slice(segments.length))
      const names = [...new Set(steps.map(([name]) => name as string))].sort()
      return {
        kind: 'directory',
        entries: names.map((name) => {
          const isDirectory = steps.some((rest) => rest[0] === name && rest.length > 1)
          const sizeBytes = files[tree].get([...segments, name].join('/'))?.length ?? null
          return { name, isDirectory, sizeBytes, modifiedAtMs: FILES_MODIFIED_AT_MS }
        })
      }
    }
  }

  return { scrapyd, versions, files, jobs, scheduled, signals, uploads }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
