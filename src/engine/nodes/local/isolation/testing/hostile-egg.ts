import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildEgg } from '../../../../projects/egg-builder.ts'

/** The hostile project. Listing its spiders tries to read `wanted`. */
export async function buildHostileEgg(wanted: readonly string[]): Promise<Uint8Array> {
  const folder = join(import.meta.dirname, 'hostile-project')
  const names = ['scrapy.cfg', ...['__init__', 'settings', 'attempts', 'spiders'].map((name) => `hostile/${name}.py`)]
  const files = await Promise.all(names.map(async (path) => ({ path, bytes: await readFile(join(folder, path)) })))
  return buildEgg([...files, { path: 'hostile/wanted.py', bytes: Buffer.from(`WANTED = ${JSON.stringify(wanted)}\n`) }])
}
