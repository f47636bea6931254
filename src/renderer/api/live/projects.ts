import { mergeList, type NounUpdates, patch } from './query-updates.ts'

export const projects: NounUpdates<'projects'> = {
  thingOf: (change) => (change.kind === 'project' ? change.project.name : change.name),
  updates: (changes, query) => {
    const byName = new Map(
      changes.map((change) => (change.kind === 'project' ? [change.project.name, change.project] : [change.name, null]))
    )
    return [
      patch(query.projects.list, (data) => ({
        ...data,
        projects: mergeList(data.projects, byName, ({ name }) => name)
      })),
      patch(query.projects.get, (data, { project }) => byName.get(project) ?? data)
    ]
  }
}
