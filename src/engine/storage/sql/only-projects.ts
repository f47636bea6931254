import type { NodeId, ProjectName } from '../../../shared/contract/index.ts'

/**
 * SQL that a column is one of the given projects: `project ${ofGiven('?')}`, with a parameter of `givenProjects`.
 * Objects, because PostgreSQL reads all lists of a statement in the same way, and others are of objects.
 */
export const ofGiven = (parameter: string): string =>
  `IN (SELECT seen.value ->> '$.project' FROM json_each(${parameter}) AS seen)`

export const givenProjects = (projects: readonly ProjectName[]): string =>
  JSON.stringify(projects.map((project) => ({ project })))

export const ofGivenNodes = `IN (SELECT seen.value ->> '$.id' FROM json_each(?) AS seen)`
export const givenNodes = (ids: readonly NodeId[]): string => JSON.stringify(ids.map((id) => ({ id })))
