import { collect, wholeNumber } from '../client/arguments.ts'
import { print, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'
import { findNodeId } from '../client/find.ts'

const MODES = { cordon: 'cordoned', drain: 'draining', activate: 'active' } as const

interface AddFlags {
  name?: string
  slots?: number
  tag?: string[]
  nodeUsername?: string
}

export function addNodeCommands({ group, terminal }: ClientCommands): void {
  const add = group('nodes', 'Nodes: list, add, cordon, drain, remove.')
  add(
    'list',
    'List the nodes and their status.'
  )(async ({ client, flags }) => {
    print(terminal, flags, await client.nodes.list(), (answer) =>
      table(
        ['name', 'mode', 'health', 'running', 'slots', 'tags', 'address', 'problem'],
        answer.nodes.map((node) => [
          node.name,
          node.mode,
          node.health,
          node.running,
          node.slots,
          node.tags.join(','),
          node.url === '' ? 'this machine' : node.url,
          node.problem
        ]),
        'No nodes. Add one: scrapdeck nodes add http://HOST:6800'
      )
    )
  })
  add('add <address>', 'Add a Scrapyd node. Its password is read from SCRAPDECK_NODE_PASSWORD.', (command) =>
    command
      .option('--name <name>', 'its name (default: as it reports)')
      .option('--slots <number>', 'how many spiders it runs at once (default: learned)', wholeNumber)
      .option('--tag <tag>', 'a tag (can be repeated)', collect)
      .option('--node-username <name>', 'user name of that Scrapyd')
  )(async ({ client, flags }, [url = ''], options: AddFlags) => {
    const password = terminal.environment.SCRAPDECK_NODE_PASSWORD
    const node = await client.nodes.add({
      url,
      name: options.name,
      slots: options.slots,
      tags: options.tag,
      ...(options.nodeUsername === undefined ? {} : { username: options.nodeUsername, password: password ?? '' })
    })
    print(terminal, flags, node, ({ name, id, health }) => `Added ${name} (${id}): ${health}.`)
  })
  for (const [verb, mode] of Object.entries(MODES)) {
    const what = {
      cordon: 'Stop sending new jobs to a node.',
      drain: 'Stop sending new jobs to a node, and cordon it once its last job has ended.',
      activate: 'Send jobs to a node again.'
    }
    add(
      `${verb} <node>`,
      what[verb as keyof typeof MODES]
    )(async ({ client, flags }, [name = '']) => {
      const node = await client.nodes.setMode({ id: await findNodeId(client, name), mode })
      print(terminal, flags, node, (changed) => `${changed.name} is ${changed.mode}.`)
    })
  }
  add('remove <node>', 'Remove a node from the fleet.', (command) =>
    command.option('--force', 'even if jobs are live there: they are marked lost')
  )(async ({ client, flags }, [name = ''], { force }: { force?: boolean }) => {
    const answer = await client.nodes.remove({ id: await findNodeId(client, name), force: force ?? false })
    print(terminal, flags, answer, () => `${name} is no longer a node.`)
  })
}
