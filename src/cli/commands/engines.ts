import type { EngineInfo, EngineList } from '../../shared/contract/index.ts'
import { formatAge } from '../../shared/time.ts'
import { CommandEnd, EXIT_CODES } from '../client/exit-codes.ts'
import { localTime, table } from '../client/output.ts'
import type { ClientCommands } from '../client/session.ts'

/** The maximum number of leader changes to print. The JSON and the UI show more. */
const TERMS_SHOWN = 5

export function addEngineCommands({ group, terminal }: ClientCommands): void {
  const add = group('engines', 'Engines on one database: list, hand over the leadership, drain, undrain.')

  add('list', 'List the engines on this database, and who leads since when.', undefined, { isDefault: true })(
    async ({ client, print }) => {
      print(await client.engines.list(), (list) => describe(list, terminal.nowMs()))
    }
  )

  add(
    'hand-over [engine]',
    'Let another engine lead: this one, or whichever is first.'
  )(async ({ client, print }, [name]) => {
    const to = name === undefined ? undefined : pickEngine(await client.engines.list(), name)
    print(await client.engines.handOver({ to: to?.id }), () =>
      to === undefined ? 'The leader hands over.' : `The leader hands over to ${to.name}.`
    )
  })

  const verbs = {
    drain: [
      'Keep an engine from leading, before maintenance. If it leads, it hands over.',
      'is drained: it will not lead.'
    ],
    undrain: ['Let a drained engine lead again.', 'can lead again.']
  } as const
  for (const [verb, [what, done]] of Object.entries(verbs)) {
    add(
      `${verb} <engine>`,
      what
    )(async ({ client, print }, [name = '']) => {
      const engine = pickEngine(await client.engines.list(), name)
      const answer = await client.engines.drain({ id: engine.id, drained: verb === 'drain' })
      print(answer, () => `${engine.name} ${done}`)
    })
  }
}

function describe({ shared, engines, terms }: EngineList, nowMs: number): string {
  if (!shared) return 'One engine, on SQLite. Several need PostgreSQL: docs/scaling.md.'
  return [
    table(
      ['name', 'state', 'drained', 'local node', 'version', 'address', 'started', 'last heard', 'id'],
      engines.map(({ name, state, drained, hasLocalNode, version, address, startedAtMs, silentMs, id }) => [
        ...[name, state, drained ? 'yes' : 'no', hasLocalNode ? 'yes' : 'no', version, address],
        ...[`${formatAge(nowMs - startedAtMs)} ago`, `${formatAge(silentMs)} ago`, id]
      ]),
      'No engines.'
    ),
    '',
    table(
      ['leader', 'since', 'why'],
      terms.slice(0, TERMS_SHOWN).map(({ engine, sinceMs, reason }) => [engine, localTime(sinceMs), reason]),
      'No engine has led yet.'
    )
  ].join('\n')
}

/**
 * Finds an engine by its id or name. Prefers a running engine, because a killed engine with the same name stays listed.
 * Throws if none or several match.
 */
export function pickEngine({ engines }: Pick<EngineList, 'engines'>, text: string): EngineInfo {
  const named = engines.filter(({ name }) => name === text)
  const living = named.filter(({ state }) => state !== 'silent')
  const candidates = living.length > 0 ? living : named
  const engine = engines.find(({ id }) => id === text) ?? candidates[0]
  if (engine === undefined) {
    const names = [...new Set(engines.map(({ name }) => name))].join(', ')
    throw new CommandEnd(EXIT_CODES.notFound, `There is no engine ${text}. There are ${names || 'none'}.`)
  }
  if (engine.id !== text && candidates.length > 1) {
    const lines = candidates.map(({ id, address, state }) => `${id} (${address}, ${state})`)
    throw new CommandEnd(
      EXIT_CODES.usage,
      `Several engines are named ${text}. Use the id of one: ${lines.join(', ')}. Set engine_name to tell them apart.`
    )
  }
  return engine
}
