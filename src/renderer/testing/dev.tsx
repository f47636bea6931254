/**
 * The whole app with an in-memory engine, for looking at screens. Never shipped. URL parameters: `dev.html?first`
 * (first run), `?python=missing`, `?nodes=1000`, `?jobs=5000`, `?engines` (several), `?role=viewer`, and `?still` (no
 * live changes).
 */
import { ROLES } from '../../shared/roles.ts'
import { startApp } from '../app/start-app.tsx'
import { createFakeEngine } from './fake-engine.ts'

const scene = new URLSearchParams(window.location.search)
// The router would parse this query string as its own.
window.history.replaceState(null, '', window.location.pathname + window.location.hash)
const engine = createFakeEngine({
  firstRun: scene.has('first'),
  python: scene.get('python') === 'missing' ? 'missing' : 'ready',
  nodeCount: Number(scene.get('nodes') ?? 12),
  jobCount: Number(scene.get('jobs') ?? 200),
  hasSeveralEngines: scene.has('engines'),
  role: ROLES.find((role) => role === scene.get('role')) ?? 'owner',
  isInBrowser: true,
  liveEveryMs: scene.has('still') ? 0 : 1000
})
Object.assign(window, { engine })
startApp(engine.client)
