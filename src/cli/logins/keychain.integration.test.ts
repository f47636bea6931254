import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { makeDirectory } from '../testing/call.ts'

const isInPath = (program: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

/**
 * The programs that the test needs. The setup scripts install no Secret Service, because it needs a desktop session.
 */
const NEEDED = ['dbus-run-session', 'gnome-keyring-daemon']
const missing = process.platform === 'linux' ? NEEDED.filter((program) => !isInPath(program)) : ['Linux']

/** Runs statements with `keychain` in a separate process with this environment and returns their result. */
async function inProcess(statements: string, command: string[], environment: Record<string, string>): Promise<unknown> {
  const module = join(import.meta.dirname, 'keychain.ts')
  const script = `const { openKeychain } = await import(${JSON.stringify(module)})
const keychain = await openKeychain(process.env)
console.log(JSON.stringify(await (async () => { ${statements} })()))`
  const words = [...command, process.execPath, '--input-type=module', '-e', script]
  const env = { PATH: process.env['PATH'] ?? '', LD_LIBRARY_PATH: process.env['LD_LIBRARY_PATH'] ?? '', ...environment }
  const { stdout } = await promisify(execFile)(words[0]!, words.slice(1), { env })
  return JSON.parse(stdout)
}

it.skipIf(process.platform !== 'linux')(
  'without a Secret Service there is no keychain, and the kernel keyring is not used',
  async () => {
    const environment = { HOME: makeDirectory(), DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere' }
    expect(await inProcess('return keychain', [], environment)).toBeNull()
    expect(await inProcess('return keychain', [], { ...environment, SCRAPDECK_KEYCHAIN: 'off' })).toBeNull()
  }
)

describe.skipIf(missing.length > 0)('in a session with a Secret Service (else skipped: not in PATH)', () => {
  it('keeps a token for each address until it is removed, also for the next process', async () => {
    const home = makeDirectory()
    const unlock = 'printf %s "a password" | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$@"'
    const session = ['dbus-run-session', '--', 'sh', '-c', unlock, 'sh']
    const environment = { HOME: home, XDG_RUNTIME_DIR: home, XDG_DATA_HOME: join(home, 'data') }
    const wrote = await inProcess(
      `await keychain.write('https://a.example', 'sdk_a'); await keychain.write('https://b.example', 'sdk_b')
       await keychain.remove('https://b.example')
       return [await keychain.read('https://a.example'), await keychain.read('https://b.example')]`,
      session,
      environment
    )
    expect(wrote).toEqual(['sdk_a', null])
    expect(await inProcess(`return keychain.read('https://a.example')`, session, environment)).toBe('sdk_a')
  }, 60_000)
})
