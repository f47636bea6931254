import { resolve } from 'node:path'
import { buildEggFromFolder } from '../../src/engine/projects/egg-builder.ts'

/** The bundled demo project, packed as an egg. */
export function buildDemoEgg(): Promise<Uint8Array> {
  return buildEggFromFolder(resolve(import.meta.dirname, '../../resources/demo'))
}
