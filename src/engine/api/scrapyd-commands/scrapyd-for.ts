import type { ProjectName } from '../../../shared/contract/index.ts'
import { type Permission, permissionsOf } from '../../../shared/permissions.ts'
import { type Principal, requirePermissionIn } from '../../access/principal.ts'
import { permissionsIn, seenProjects } from '../../access/rights.ts'
import { noProject, withoutSimilarNames } from '../../projects/catalog.ts'
import type { FleetAsScrapyd } from './scrapyd-commands.ts'

/** Hidden projects look missing. Rejects with ROLE_REQUIRED for projects that the principal may see but not change. */
export function scrapydFor(scrapyd: FleetAsScrapyd, principal: Principal): FleetAsScrapyd {
  const { rights } = principal
  if (rights.everywhere !== null && rights.inProjects.size === 0) return scrapyd
  const seen = seenProjects(rights)
  const isSeen = (project: string) => permissionsIn(rights, project as ProjectName) !== null
  const see = (project: ProjectName) => {
    if (!isSeen(project)) throw noProject(project)
  }
  const change = (project: ProjectName, needed: Permission, what: string) => {
    see(project)
    requirePermissionIn(principal, project, permissionsOf([needed]), what)
  }
  const ofSeen = <Thing extends { project: ProjectName }>(things: Thing[]) =>
    seen === null ? things : things.filter(({ project }) => seen.has(project))

  const limited: FleetAsScrapyd = {
    nodeName: scrapyd.nodeName,
    async daemonStatus(finishedToKeep) {
      if (seen === null) return scrapyd.daemonStatus(finishedToKeep)
      const { pending, running, finished } = await limited.listJobs(null, finishedToKeep)
      return { pending: pending.length, running: running.length, finished: finished.length }
    },
    async addVersion(project, version, egg) {
      change(project, 'eggs.deploy', 'addversion.json')
      return scrapyd.addVersion(project, version, egg)
    },
    requireProject(project) {
      see(project)
      onlyHere(project, () => scrapyd.requireProject(project))
    },
    async schedule(spider, readOrder) {
      const { project } = spider
      see(project)
      const readAllowed = () => {
        const order = readOrder()
        change(project, 'jobs.run', 'schedule.json')
        return order
      }
      return hideOthers(project, scrapyd.schedule(spider, readAllowed))
    },
    async cancel(request) {
      change(request.project, 'jobs.cancel', 'cancel.json')
      return hideOthers(request.project, scrapyd.cancel(request))
    },
    async status({ jobid, project }) {
      if (project !== null) {
        see(project)
        return hideOthers(project, scrapyd.status({ jobid, project }))
      }
      if (seen === null) return scrapyd.status({ jobid, project })
      const states = await Promise.all(
        (await limited.listProjects()).map((name) => scrapyd.status({ jobid, project: name as ProjectName }))
      )
      const found = states.map(({ currstate }) => currstate)
      return { currstate: (['finished', 'running', 'pending'] as const).find((state) => found.includes(state)) ?? null }
    },
    async listProjects() {
      return (await scrapyd.listProjects()).filter(isSeen)
    },
    async listVersions(project) {
      return isSeen(project) ? scrapyd.listVersions(project) : []
    },
    async listSpiders(project, version) {
      see(project)
      return hideOthers(project, scrapyd.listSpiders(project, version))
    },
    async listJobs(project, finishedToKeep) {
      if (project !== null) see(project)
      const jobs = await (project === null
        ? scrapyd.listJobs(null, finishedToKeep)
        : hideOthers(project, scrapyd.listJobs(project, finishedToKeep)))
      if (project !== null || seen === null) return jobs
      const { pending, running, finished, isOfStore } = jobs
      return { pending: ofSeen(pending), running: ofSeen(running), finished: ofSeen(finished), isOfStore }
    },
    async deleteVersion(project, version) {
      change(project, 'projects.delete', 'delversion.json')
      await hideOthers(project, scrapyd.deleteVersion(project, version))
    },
    async deleteProject(project) {
      change(project, 'projects.delete', 'delproject.json')
      await hideOthers(project, scrapyd.deleteProject(project))
    },
    async openFile(tree, segments) {
      const [project] = segments
      if (project !== undefined && !isSeen(project)) return null
      const found = await scrapyd.openFile(tree, segments)
      if (project !== undefined || found?.kind !== 'directory') return found
      return { ...found, entries: found.entries.filter(({ name, isDirectory }) => isDirectory && isSeen(name)) }
    }
  }
  return limited
}

async function hideOthers<T>(project: ProjectName, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw withoutSimilarNames(project, error)
  }
}

function onlyHere(project: ProjectName, ask: () => void): void {
  try {
    ask()
  } catch (error) {
    throw withoutSimilarNames(project, error)
  }
}
