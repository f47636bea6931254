import type { Worker } from 'node:worker_threads'
import { requirePython } from '../nodes/local/pythons/check-python.ts'
import { absoluteUnlessBare } from '../nodes/local/pythons/python-environment.ts'
import { systemClock } from '../runtime/clock.ts'
import type { EngineOptions } from './engine-options.ts'
import { formerLocalEngine, hasLocalNode } from '../nodes/local/optional-local-node.ts'
import { openGround } from './layers/ground.ts'
import { openFleet } from './layers/fleet.ts'
import { openWork } from './layers/work.ts'
import { openOrders } from './layers/orders.ts'
import { openHealth } from './layers/health.ts'
import { openDoors } from './layers/doors.ts'

export type Rooms = Awaited<ReturnType<typeof openRooms>>

/**
 * The rooms of an engine, from the ground floor up: each floor gets those below it and calls them; it reports to those
 * above with events, which listeners.ts connects. Whatever must be closed is adopted by `opened` where it is created:
 * the stack closes in reverse order, including rooms that were never or only partly started.
 */
export async function openRooms(given: EngineOptions, storeThread: Worker | null, opened: AsyncDisposableStack) {
  // In a cluster, each engine hosts its own local node, leader or not.
  const options = given.leadership === undefined ? given : { ...given, localSlots: 0 }
  const python = checkNamedPython(options)
  const ground = await openGround(given, storeThread, opened)
  const former = await formerLocalEngine(given, ground.base.store)
  const fleet = await openFleet(options, { ...ground, formerLocalEngine: former }, opened)
  await python
  const work = openWork(options, { ...ground, ...fleet }, opened)
  const orders = openOrders(options, { ...ground, ...fleet, ...work }, opened)
  const health = openHealth(options, { ...ground, ...fleet, ...work, ...orders }, opened)
  const doors = openDoors(options, { ...ground, ...fleet, ...work, ...orders, ...health }, opened)
  return { ...ground, ...fleet, ...work, ...orders, ...health, ...doors }
}

/** Runs while the rooms open, and is awaited after that. Rejects with PYTHON_MISSING. */
function checkNamedPython(options: EngineOptions): Promise<void> | null {
  const { pythonPath, resourcesDirectory, seams } = options
  if (pythonPath === undefined || seams?.localNode !== undefined || !hasLocalNode(options)) return null
  const clock = seams?.clock ?? systemClock
  const check = requirePython(absoluteUnlessBare(pythonPath), { directory: resourcesDirectory, clock })
  // An earlier failure takes precedence.
  check.catch(() => {})
  return check
}
