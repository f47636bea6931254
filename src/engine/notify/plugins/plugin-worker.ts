import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { ALERT_HOOK, BLOB_CALLS, EVENT_HOOKS, type Plugin, type PluginFactory, SPIDER_HOOKS } from './plugin.ts'
import type { FromPlugin, PluginCall } from './plugin-messages.ts'

// The thread that runs one plugin. plugin-thread.ts is the other end and can terminate it at any moment.

const port = parentPort
if (port === null) throw new Error('plugin-worker.ts is started by plugin-thread.ts only')
const post = (message: FromPlugin, transfer: readonly ReadableStream[] = []) =>
  port.postMessage(message, transfer as never)

const OTHER = ['beforeDispatch', 'chooseNode', 'authenticate', 'blobs'] satisfies (keyof Plugin)[]
const KNOWN = [...Object.values(EVENT_HOOKS), ...Object.values(SPIDER_HOOKS), ALERT_HOOK, ...OTHER]

void serve(port)

// A function, because the service's bundle is CommonJS and has no top-level await (service.vite.config.ts).
async function serve(port: MessagePort): Promise<void> {
  try {
    const { module, options } = workerData as { module: string; options: Record<string, string> }
    const exported = (await import(module)) as Plugin & { default?: Plugin | PluginFactory }
    const given = exported.default ?? exported
    if (typeof given !== 'function' && Object.keys(given).length === 0)
      throw new Error('it exports neither hooks nor a function that creates a plugin')
    const plugin = typeof given === 'function' ? await given(options) : given
    if (typeof plugin !== 'object' || plugin === null) throw new Error('its default export did not return an object')
    // Otherwise, a hook with a misspelled name would silently never be called.
    const unknown = Object.keys(plugin).filter((name) => !KNOWN.includes(name))
    if (unknown.length > 0) throw new Error(`unknown hook: ${unknown.join(', ')}. The hooks are ${KNOWN.join(', ')}`)
    for (const name of BLOB_CALLS) {
      if (plugin.blobs !== undefined && typeof plugin.blobs[name] !== 'function') {
        throw new Error(`its blobs have no function ${name}`)
      }
    }
    const answer = async ({ id, call, args }: PluginCall) => {
      try {
        const value = await functionOf(plugin, call)(...args)
        post({ kind: 'answer', id, value }, value instanceof ReadableStream ? [value] : [])
      } catch (error) {
        post({ kind: 'failed', id, problem: wordsOf(error) })
      }
    }
    port.on('message', (call: PluginCall) => void answer(call))
    post({ kind: 'ready', hooks: Object.keys(plugin) })
  } catch (error) {
    post({ kind: 'refused', problem: wordsOf(error) })
    port.close()
  }
}

function functionOf(plugin: Plugin, call: string): (...args: unknown[]) => unknown {
  const [owner, name] = call.startsWith('blobs.') ? [plugin.blobs, call.slice('blobs.'.length)] : [plugin, call]
  return ((owner as never)[name!] as (...args: unknown[]) => unknown).bind(owner)
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 2_000)
}
