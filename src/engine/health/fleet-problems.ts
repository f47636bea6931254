import type { Problem, ProjectName, SourceState } from '../../shared/contract/index.ts'

/** Versions of a project that nodes order differently: why, in words. */
export interface OrderWarning {
  project: ProjectName
  text: string
}

export function versionOrderProblems(warnings: readonly OrderWarning[]): Problem[] {
  return warnings.map(({ project, text }) => ({
    id: `version-order:${project}`,
    severity: 'warning',
    title: `Nodes disagree on the latest version of ${project}`,
    text,
    sinceMs: null,
    nodeId: null,
    project,
    spider: null,
    mend: 'open_project'
  }))
}

/** Sources of nodes that fail, and nodes that are named no longer: they take no jobs, and nobody told them to. */
export function discoveryProblems(sources: readonly SourceState[]): Problem[] {
  return sources.flatMap(({ id, problem, vanishedNodes }) => {
    const cordoned = vanishedNodes.filter(({ isCordonedForIt }) => isCordonedForIt)
    const common = { severity: 'warning', nodeId: null, project: null, spider: null, mend: 'open_discovery' } as const
    const problems: Problem[] = []
    if (problem !== null) {
      const title = `The source ${id} of nodes has a problem`
      problems.push({ ...common, id: `discovery:${id}`, title, text: problem, sinceMs: null })
    }
    if (cordoned.length > 0) {
      problems.push({
        ...common,
        id: `vanished:${id}`,
        title:
          cordoned.length === 1 ? `${id} no longer lists a node` : `${id} no longer lists ${cordoned.length} nodes`,
        text:
          cordoned.length === 1
            ? 'It is cordoned and gets jobs again once the source lists it. Remove it if it is gone for good.'
            : 'They are cordoned and get jobs again once the source lists them. Remove them if they are gone for good.',
        sinceMs: Math.min(...cordoned.map(({ sinceMs }) => sinceMs))
      })
    }
    return problems
  })
}
