import type { Problem, ProjectName, SourceState } from '../../shared/contract/index.ts'

/** Nodes order the versions of a project differently; `text` explains why. */
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
    ...{ sinceMs: null, nodeId: null, project, spider: null },
    mend: 'open_project'
  }))
}

/** Node sources that fail, and nodes that are no longer listed: Scrapdeck cordoned them, not an operator. */
export function discoveryProblems(sources: readonly SourceState[]): Problem[] {
  return sources.flatMap(({ id, problem, vanishedNodes }) => {
    const cordoned = vanishedNodes.filter(({ isCordonedForIt }) => isCordonedForIt)
    const common = { severity: 'warning', nodeId: null, project: null, spider: null, mend: 'open_discovery' } as const
    const problems: Problem[] = []
    if (problem !== null) {
      const title = `The node source ${id} has a problem`
      problems.push({ ...common, id: `discovery:${id}`, title, text: problem, sinceMs: null })
    }
    if (cordoned.length > 0) {
      const isOne = cordoned.length === 1
      const title = `${id} no longer lists ${isOne ? 'a node' : `${cordoned.length} nodes`}`
      const text = isOne
        ? 'It is cordoned and gets jobs again once the source lists it. Remove it if it is gone for good.'
        : 'They are cordoned and get jobs again once the source lists them. Remove them if they are gone for good.'
      const sinceMs = Math.min(...cordoned.map((node) => node.sinceMs))
      problems.push({ ...common, id: `vanished:${id}`, title, text, sinceMs })
    }
    return problems
  })
}
