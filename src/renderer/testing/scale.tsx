/**
 * The whole app over a busy fleet: an engine in a worker, on the wire that the desktop has (a MessagePort), so that what the page
 * itself does can be measured. `scale.html?nodes=1000&slots=16`; never shipped.
 */
import { WIRE_MESSAGE } from '../../shared/wire.ts'
import { connectWire } from '../api/wire.ts'
import { startApp } from '../app/start-app.tsx'

const scene = new URLSearchParams(window.location.search)
window.history.replaceState(null, '', window.location.pathname + window.location.hash)
const worker = new Worker(new URL('./scale-worker.ts', import.meta.url), { type: 'module' })
const { port1, port2 } = new MessageChannel()
worker.postMessage({ nodes: Number(scene.get('nodes') ?? 1000), slots: Number(scene.get('slots') ?? 16) }, [port2])
window.scrapdeck = {
  platform: 'linux',
  requestWire: () => window.postMessage(WIRE_MESSAGE, '/', [port1])
}
startApp(await connectWire())
