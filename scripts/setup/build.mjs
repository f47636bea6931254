/** out/main, out/preload, out/renderer and out/service, built again when anything they are made of has changed. */
import fs from 'node:fs'
import { inRoot, nodeBinary, packageFile } from './platform.mjs'
import { hashOf, isStamped, removeStamp, stamp } from './stamps.mjs'
import { commandStep } from './steps.mjs'

const INPUTS = [
  'src',
  'resources/icons',
  'electron.vite.config.ts',
  'service.vite.config.ts',
  'package-lock.json',
  'tsconfig.base.json'
]
const RESULTS = ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html', 'out/service/scrapdeck.js']

export async function ensureBuilt() {
  const wanted = hashOf(INPUTS.map((input) => inRoot(input)))
  if (RESULTS.every((result) => fs.existsSync(inRoot(result))) && isStamped('build', wanted)) return
  removeStamp('build')
  await commandStep({
    title: 'Build',
    command: nodeBinary,
    args: [packageFile('electron-vite/bin/electron-vite.js'), 'build'],
    env: { NODE_ENV: 'production' },
    next: 'the output above names the file; `npm run build` builds again.'
  })
  await commandStep({
    title: 'Build of the service',
    command: nodeBinary,
    args: [packageFile('vite/bin/vite.js'), 'build', '--config', inRoot('service.vite.config.ts')],
    env: { NODE_ENV: 'production' },
    next: 'the output above names the file; `npm run build` builds again.'
  })
  stamp('build', wanted)
}
