import { type AsyncZippable, zip } from 'fflate'
import { texts } from '../../../shared/texts/ui/projects.ts'

export interface DroppedFile {
  /** With `/` as separator, without a leading `/` or `./`. */
  readonly path: string
  readonly file: File
}

export interface UploadPlan {
  readonly key: string
  readonly name: string
  readonly sizeBytes: number
  /** How many files of a folder go into the zip. null: an egg or a zip. */
  readonly fileCount: number | null
  /** A guess from the file's name or its scrapy.cfg. The engine reads the archive. */
  readonly guess: { readonly project: string | null; readonly version: string | null }
  readonly open: () => Promise<File>
}

export interface UploadPlans {
  readonly plans: readonly UploadPlan[]
  readonly problems: readonly string[]
}

export async function planUploads(files: readonly File[]): Promise<UploadPlans> {
  const dropped = files.map((file) => ({ file, path: pathOf(file) }))
  const projectRoots = rootsOf(dropped)
  const plans: UploadPlan[] = []
  const problems: string[] = []
  for (const root of projectRoots) plans.push(await planFolder(root, dropped))
  const inFolders = (path: string) => projectRoots.some((root) => path.startsWith(root))
  const strangeFolders = new Set<string>()
  for (const { file, path } of dropped) {
    if (inFolders(path)) continue
    if (/\.(egg|whl|zip)$/i.test(file.name)) plans.push(planFile(file))
    else if (path.includes('/')) strangeFolders.add(path.slice(0, path.indexOf('/')))
    else problems.push(texts.notDeployable(file.name))
  }
  for (const folder of strangeFolders) {
    problems.push(texts.noScrapyCfg(folder))
  }
  return { plans, problems }
}

/** Whether to leave a file out of the upload: a cache, build output, a hidden file, or part of an environment. */
export function isLeftOut(relativePath: string): boolean {
  return relativePath
    .split('/')
    .some(
      (part) =>
        part.startsWith('.') || LEFT_OUT_FOLDERS.has(part) || part.endsWith('.pyc') || part.endsWith('.egg-info')
    )
}

const LEFT_OUT_FOLDERS = new Set(['__pycache__', 'venv', 'env', 'node_modules', 'build', 'dist'])

/** Dropped files have the path in `path` or `relativePath`; files from a folder picker, in `webkitRelativePath`. */
function pathOf(file: File & { path?: string; relativePath?: string }): string {
  const path = file.webkitRelativePath || file.relativePath || file.path || file.name
  return path.replaceAll('\\', '/').replace(/^(?:\.?\/)+/, '')
}

/** Folders (ending in `/`) that contain a scrapy.cfg, outermost only. */
function rootsOf(dropped: readonly DroppedFile[]): string[] {
  const roots = dropped
    .filter(({ path }) => path.endsWith('/scrapy.cfg') && !isLeftOut(path))
    .map(({ path }) => path.slice(0, -'scrapy.cfg'.length))
    .sort((left, right) => left.length - right.length)
  return roots.filter((root, index) => !roots.slice(0, index).some((outer) => root.startsWith(outer)))
}

async function planFolder(root: string, dropped: readonly DroppedFile[]): Promise<UploadPlan> {
  const inside = dropped
    .filter(({ path }) => path.startsWith(root))
    .map(({ path, file }) => ({ file, path: path.slice(root.length) }))
    .filter(({ path }) => !isLeftOut(path))
  const config = inside.find(({ path }) => path === 'scrapy.cfg')
  const name = root.slice(0, -1).split('/').at(-1) as string
  return {
    key: `folder:${root}`,
    name,
    sizeBytes: inside.reduce((sum, { file }) => sum + file.size, 0),
    fileCount: inside.length,
    guess: { project: config === undefined ? null : projectOfConfig(await config.file.text()), version: null },
    open: () => zipFiles(`${name}.zip`, inside)
  }
}

/** The project in `[deploy]` or in the first `[deploy:TARGET]`, as scrapyd-deploy reads it. */
export function projectOfConfig(text: string): string | null {
  let section = ''
  for (const line of text.split(/\r?\n/)) {
    const head = /^\[([^\]]+)\]/.exec(line.trim())
    if (head !== null) section = head[1] as string
    const field = /^\s*project\s*[=:]\s*(\S.*?)\s*$/.exec(line)
    if (field !== null && /^deploy(:|$)/.test(section)) return field[1] as string
  }
  return null
}

function planFile(file: File): UploadPlan {
  // setuptools names eggs PROJECT-VERSION-pyX.Y.egg. A wheel is PROJECT-VERSION-PYTHON-ABI-PLATFORM.whl.
  const named = /^(.+?)-(.+?)(?:-py[\d.]+)?\.egg$/i.exec(file.name) ?? /^([^-]+)-([^-]+)-.+\.whl$/i.exec(file.name)
  return {
    key: `file:${file.name}:${file.size}:${file.lastModified}`,
    name: file.name,
    sizeBytes: file.size,
    fileCount: null,
    guess: { project: named?.[1] ?? null, version: named?.[2] ?? null },
    open: () => Promise.resolve(file)
  }
}

async function zipFiles(name: string, files: readonly DroppedFile[]): Promise<File> {
  const entries: AsyncZippable = {}
  for (const { path, file } of files) entries[path] = new Uint8Array(await file.arrayBuffer())
  const bytes = await new Promise<Uint8Array<ArrayBuffer>>((resolve, reject) => {
    zip(entries, { level: 6 }, (error, zipped) =>
      error === null ? resolve(zipped as Uint8Array<ArrayBuffer>) : reject(error)
    )
  })
  return new File([bytes], name, { type: 'application/zip' })
}
