import { resolve } from 'node:path'
import { buildEggFromFolder } from '../../src/engine/projects/egg-builder.ts'

/** The bundled demo project's own folder. */
export const DEMO_FOLDER = resolve(import.meta.dirname, '../../resources/demo')

/** The bundled demo project, packed as an egg. */
export function buildDemoEgg(): Promise<Uint8Array> {
  return buildEggFromFolder(DEMO_FOLDER)
}
