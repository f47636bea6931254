import fs from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { inRoot } from './setup/platform.mjs'

test('each package named in electron-builder.yml is a dependency', () => {
  const { dependencies: always, optionalDependencies } = JSON.parse(fs.readFileSync(inRoot('package.json'), 'utf8'))
  const dependencies = Object.keys({ ...always, ...optionalDependencies })
  const named = packagesNamedIn(fs.readFileSync(inRoot('electron-builder.yml'), 'utf8'))
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !dependencies.some((known) => known === name || known.startsWith(`${name}/`)))).toEqual(
    []
  )
})

/** Returns names of packages and of scopes. A scope (`@mantine`) represents all its packages. */
function packagesNamedIn(configuration: string): string[] {
  const { files, asarUnpack } = parse(configuration) as { files: string[]; asarUnpack: string[] }
  return [...files, ...asarUnpack].flatMap((pattern) => {
    const [, group = '', name = ''] = /^!?node_modules\/(?:\{([^}]+)\}|((?:@[^/]+\/)?[^/]+))\//.exec(pattern) ?? []
    return [...group.split(','), name].filter((one) => one !== '')
  })
}
