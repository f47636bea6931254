import fs from 'node:fs'
import { inRoot, nodeBinary, packageFile } from './platform.mjs'
import { hashOf, isStamped, removeStamp, stamp } from './stamps.mjs'
import { commandStep, runCommand, step } from './steps.mjs'

const COMMON_INPUTS = ['package-lock.json', 'tsconfig.base.json']
const APP = {
  stampName: 'build',
  inputs: [...COMMON_INPUTS, 'src', 'resources/icons', 'electron.vite.config.ts'],
  results: ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']
}
const SERVICE = {
  stampName: 'build-service',
  inputs: [
    ...COMMON_INPUTS,
    'src/cli',
    'src/config',
    'src/remote',
    'src/engine',
    'src/server',
    'src/shared',
    'service.vite.config.ts'
  ],
  results: ['out/service/scrapdeck.js']
}
const NEXT = 'the output above names the file; `npm run build` builds again.'

export async function ensureBuilt() {
  await ensure(APP, () =>
    commandStep({
      title: 'Build',
      command: nodeBinary,
      args: [packageFile('electron-vite/bin/electron-vite.js'), 'build'],
      env: { NODE_ENV: 'production' },
      next: NEXT
    })
  )
  await ensure(SERVICE, () => step('Build of the service', buildService))
}

/** Builds only the headless service, without output, because the benches' standard output is for figures. */
export function ensureServiceBuilt() {
  return ensure(SERVICE, buildService)
}

function buildService() {
  return runCommand({
    title: 'Build of the service',
    command: nodeBinary,
    args: [packageFile('vite/bin/vite.js'), 'build', '--config', inRoot('service.vite.config.ts')],
    env: { NODE_ENV: 'production' },
    next: NEXT
  })
}

/**
 * @param {{ stampName: string, inputs: string[], results: string[] }} what
 * @param {() => Promise<unknown>} build
 */
async function ensure({ stampName, inputs, results }, build) {
  const wanted = hashOf(inputs.map((input) => inRoot(input)))
  if (results.every((result) => fs.existsSync(inRoot(result))) && isStamped(stampName, wanted)) {
    // Marks the results as new for bin/scrapdeck, which compares only times, because hashing all sources would take
    // longer than most commands.
    for (const result of results) fs.utimesSync(inRoot(result), new Date(), new Date())
    return
  }
  removeStamp(stampName)
  await build()
  stamp(stampName, wanted)
}
