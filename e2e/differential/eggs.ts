import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ZipFile } from 'yazl'
import { aProjectName } from '../../src/shared/testing/ids.ts'
import { asWheel } from '../../src/engine/testing/archives.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'

/** The environment variable of the servers that names the directory for the spiders' reports. */
export const REPORTS_VARIABLE = 'DIFFERENTIAL_REPORTS'

/**
 * The spider `report` reports its process environment and `hold` runs until it is released. The spiders in `more` are
 * copies of `report` with other names.
 */
export async function reporterEgg(more: string[] = [], settings = ''): Promise<Buffer> {
  const spiders = await readFile(join(import.meta.dirname, 'reporter.py'), 'utf8')
  const added = more.map((name) => `\n\nclass ${name}_(Report):\n    name = ${JSON.stringify(name)}\n`).join('')
  return egg({
    'reporter/__init__.py': '',
    'reporter/settings.py': `BOT_NAME = "reporter"\nSPIDER_MODULES = ["reporter.spiders"]\nTELNETCONSOLE_ENABLED = False\nFROM_EGG = "yes"\n${settings}`,
    'reporter/data.txt': 'data beside the code',
    'reporter/spiders/__init__.py': '',
    'reporter/spiders/spiders.py': spiders + added
  })
}

export async function oddEggs(): Promise<Record<string, Buffer>> {
  const plain = await reporterEgg()
  const entryPoints = '[scrapy]\nsettings = reporter.settings [redis]\n'
  return {
    wheel: Buffer.from(await asWheel(plain)),
    extra: Buffer.from(await asWheel(plain, { entryPoints })),
    'with-a-script-before': Buffer.concat([Buffer.from('#!/bin/sh\n'), plain]),
    'with-nuls-behind': Buffer.concat([plain, Buffer.alloc(100)])
  }
}

export async function damagedEgg(name: string): Promise<Buffer> {
  const egg = await reporterEgg()
  const inList = egg.lastIndexOf(name)
  for (const header of [egg.indexOf(name) - 30 + 14, inList - 46 + 16]) egg[header]! ^= 1
  return egg
}

export function brokenEgg(): Promise<Buffer> {
  return egg({ 'reporter/__init__.py': '', 'reporter/settings.py': 'raise RuntimeError("no good")\n' })
}

/** Prints on import. Scrapyd treats each printed line as the name of a spider. */
export async function talkingEgg(): Promise<Buffer> {
  return reporterEgg([], 'print("hello from settings")\n')
}

async function egg(files: Record<string, string>): Promise<Buffer> {
  const configuration = '[settings]\ndefault = reporter.settings\n'
  const all = { 'scrapy.cfg': configuration, ...files }
  const list = Object.entries(all).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  return Buffer.from(await buildEgg(list, { project: aProjectName('reporter') }))
}

export async function archive(files: Record<string, string>): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [name, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), name)
  zip.end()
  const pieces: Buffer[] = []
  for await (const piece of zip.outputStream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
