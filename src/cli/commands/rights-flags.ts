import { type Command, InvalidArgumentError } from 'commander'
import type { User } from '../../shared/contract/index.ts'
import { NODE_GROUP_ROLES, type NodeGroupRole } from '../../shared/roles.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { pickById } from '../client/find.ts'

export interface RightsFlags {
  role?: string
  project?: [string, string][]
  nodeGroup?: [string, NodeGroupRole][]
}

/** If `isChange` is true, rights without a flag stay unchanged. */
export function withRights(
  command: Command,
  { whose, isChange = false }: { whose: string; isChange?: boolean }
): Command {
  const all = isChange ? ', all of them; "" for none' : '; may be given several times'
  return command
    .option('--role <role>', `what ${whose} may do in all projects: a role of "scrapdeck roles", or none`)
    .option('--project <project=role>', `roles in single projects${all}`, readProjectRole)
    .option('--node-group <tag=role>', `roles for the nodes with a tag${all}`, readNodeGroupRole)
}

export const rightsIn = ({ role, project, nodeGroup }: RightsFlags) => ({
  ...(role !== undefined && { role: role === 'none' ? null : role }),
  ...(project !== undefined && { projects: Object.fromEntries(project) }),
  ...(nodeGroup !== undefined && { nodeGroups: Object.fromEntries(nodeGroup) })
})

const readProjectRole = pairsOf('Write it as PROJECT=ROLE, with a role of "scrapdeck roles".', (role) => role)
const readNodeGroupRole = pairsOf(`Write it as TAG=ROLE, with one of ${NODE_GROUP_ROLES.join(', ')}.`, (role) =>
  NODE_GROUP_ROLES.find((one) => one === role)
)

function pairsOf<One extends string>(help: string, read: (role: string) => One | undefined) {
  return (text: string, before: [string, One][] = []): [string, One][] => {
    if (text === '') return before
    const at = text.lastIndexOf('=')
    const role = read(text.slice(at + 1))
    if (at > 0 && role) return [...before, [text.slice(0, at), role]]
    throw new InvalidArgumentError(help)
  }
}

export const several = (text: string, before: string[] = []): string[] => [...before, text]

/** `operator, deployer in shop, admin of nodes eu`, or empty if there are none. */
export function describeRights({ role, projects, nodeGroups }: Pick<User, 'role' | 'projects' | 'nodeGroups'>): string {
  const inProjects = Object.entries(projects).map(([project, one]) => `${one} in ${project}`)
  const ofNodes = Object.entries(nodeGroups).map(([tag, one]) => `${one} of nodes ${tag}`)
  return [...(role === null ? [] : [role]), ...inProjects, ...ofNodes].join(', ')
}

/** Finds a thing by its id, its name (ignoring case) or a short form of the id. */
export function findIn<Thing extends { id: string; name: string }>(
  things: readonly Thing[],
  text: string,
  noun: string
): Thing {
  const named = things.find(({ id, name }) => id === text || name.toLowerCase() === text.toLowerCase())
  const found = named ?? pickById(things, text)
  if (found !== null) return found
  const names = things.map(({ name }) => name).join(', ')
  throw new CommandEnd(EXIT_CODES.notFound, `There is no ${noun} ${text}. There are ${names || 'none'}.`)
}
