import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Only this file knows where the package's files are relative to itself. out/service/ is as deep as src/cli/. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export const packagePaths = {
  resourcesDirectory: join(root, 'resources'),
  uiDirectory: join(root, 'out', 'renderer'),
  docsDirectory: join(root, 'docs'),
  /** The code compiled on earlier starts. Not in the system's temporary directory, where other users can write. */
  compileCacheDirectory: join(root, '.cache', 'compiled')
}

export function readPackageVersion(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}
