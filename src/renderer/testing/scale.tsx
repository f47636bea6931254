/**
 * The whole app with a busy fleet, for measuring the page's own work. Never shipped. The engine runs in a worker and
 * connects over a MessagePort, as in the desktop. `scale.html?nodes=1000&slots=16&jobs=10000` (`jobs`: queued jobs).
 */
import { wireMessage } from '../../shared/wire.ts'
import { connectWire } from '../api/wire.ts'
import { startApp } from '../app/start-app.tsx'

const scene = new URLSearchParams(window.location.search)
window.history.replaceState(null, '', window.location.pathname + window.location.hash)
const worker = new Worker(new URL('./scale-worker.ts', import.meta.url), { type: 'module' })
const { port1, port2 } = new MessageChannel()
const number = (name: string, usual: number) => Number(scene.get(name) ?? usual)
worker.postMessage({ nodes: number('nodes', 1000), slots: number('slots', 16), jobs: number('jobs', 0) }, [port2])
window.scrapdeck = {
  platform: 'linux',
  requestWire: (to) => window.postMessage(wireMessage(to), '/', [port1])
}
startApp(await connectWire())
