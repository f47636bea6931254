import { resolve } from 'node:path'
import { buildEggFromFolder } from '../../src/engine/projects/egg-builder.ts'
import type { Service } from './service.ts'

export const DEMO_FOLDER = resolve(import.meta.dirname, '../../resources/demo')

export function buildDemoEgg(): Promise<Uint8Array> {
  return buildEggFromFolder(DEMO_FOLDER)
}

export async function uploadDemo({ client }: Pick<Service, 'client'>, version: string): Promise<void> {
  const file = new File([new Uint8Array(await buildDemoEgg())], 'demo.egg')
  await client.projects.upload({ file, project: 'demo', version })
}
