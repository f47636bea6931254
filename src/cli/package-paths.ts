import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The only place that knows where the package's files are, from here; out/service/ is as deep as src/cli/. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export const packagePaths = {
  /** Python files and the demo project. */
  resourcesDirectory: join(root, 'resources'),
  /** The built UI: `npm run build` makes it. */
  uiDirectory: join(root, 'out', 'renderer'),
  /** What /docs shows. */
  docsDirectory: join(root, 'docs'),
  /** Compiled code of the last start. Ours, not the system's folder for temporary files, which others may write to. */
  compileCacheDirectory: join(root, '.cache', 'compiled')
}

export function readPackageVersion(): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version
}
