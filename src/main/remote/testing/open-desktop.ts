import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { createORPCClient } from '@orpc/client'
import { RPCLink } from '@orpc/client/message-port'
import type { ContractRouterClient } from '@orpc/contract'
import type { MessagePortMain } from 'electron'
import { onTestFinished } from 'vitest'
import { SshTunnels } from '../../../engine/nodes/ssh/ssh-tunnels.ts'
import { systemClock } from '../../../engine/runtime/clock.ts'
import { openFileSecretBox } from '../../../engine/runtime/file-secret-box.ts'
import { silentLogger } from '../../../engine/runtime/logger.ts'
import { systemRandom } from '../../../engine/runtime/random.ts'
import { until } from '../../../engine/testing/until.ts'
import { makeTestDirectory } from '../../../engine/testing/test-directory.ts'
import type { desktopContract, EngineSettings, RemoteEngine } from '../../../shared/desktop/contract.ts'
import { fromWireError } from '../../../shared/wire-errors.ts'
import type { EngineClient } from '../connection.ts'
import type { WhileLive } from '../open-engine.ts'
import { openRemoteEngines } from '../remote-engines.ts'

/** The credentials of the fake engine in the server's tests. */
export const CREDENTIALS = { kind: 'password' as const, username: 'scrapdeck', password: 'correct horse: battery' }
export const settings = (url: string, changes: Partial<EngineSettings> = {}): EngineSettings => ({
  name: 'EU',
  url,
  colour: 'teal' as const,
  readOnly: false,
  ...changes
})

function connectPort<Client>(serve: (port: MessagePortMain) => void): Client {
  const { port1, port2 } = new MessageChannel()
  serve(port1 as unknown as MessagePortMain)
  onTestFinished(() => port2.close())
  return createORPCClient(new RPCLink({ port: port2 })) as Client
}

export async function openDesktop({
  directory = makeTestDirectory(),
  appVersion = '0.1.0',
  sshProgram = 'ssh',
  onBrowser = (_url: string) => {},
  whileLive = (() => {}) as WhileLive
} = {}) {
  const opened: string[] = []
  const seams = { clock: systemClock, random: systemRandom, logger: silentLogger }
  const remote = openRemoteEngines({
    path: join(directory, 'engines.json'),
    secretBox: await openFileSecretBox(join(directory, 'secret.key')),
    appVersion,
    statesDirectory: join(directory, 'engine-states'),
    tunnels: new SshTunnels({ ...seams, program: sshProgram }),
    openInBrowser(url) {
      opened.push(url)
      onBrowser(url)
    },
    ...seams,
    whileLive
  })
  onTestFinished(() => remote.stop())
  const { engines } = connectPort<ContractRouterClient<typeof desktopContract>>(remote.connectApp)
  const list = async () => {
    for await (const { engines: listed } of await engines.watch()) return listed
    return []
  }
  return {
    directory,
    engines,
    opened,
    remote,
    list,
    open: (id: string) => connectPort<EngineClient>(remote.findConnect(id)!),
    untilState: (state: RemoteEngine['state']) =>
      until(
        `the engine to be ${state}`,
        async () => (await list())[0],
        (engine) => engine?.state === state,
        20_000
      )
  }
}

export const failureOf = async (call: Promise<unknown>) =>
  fromWireError(
    await call.then(
      () => 'It did not fail',
      (error: unknown) => error
    )
  )
