import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { placeOfEgg } from '../../projects/egg-files.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { EggUpload } from './messages.ts'
import { Mutex } from '../../runtime/mutex.ts'

const INDEX = 'eggs.json'
const PART = '.part'
const Index = z.array(EggUpload)

/**
 * The eggs of a hosted node. Folders are named after hashes, so replacing an egg never changes the file of a
 * running spider.
 */
export class HostedEggs {
  readonly #directory: string
  #eggs: readonly EggUpload[]
  readonly #mutex = new Mutex()
  /** Files that no version uses, with the runs that can still import from them. */
  #usedBy: ReadonlyMap<string, readonly string[]> = new Map()

  private constructor(directory: string, eggs: readonly EggUpload[]) {
    this.#directory = directory
    this.#eggs = eggs
  }

  static async open(directory: string): Promise<HostedEggs> {
    makePrivateDirectory(directory)
    for (const name of await readdir(directory))
      if (name.endsWith(PART)) await rm(join(directory, name), { force: true })
    return new HostedEggs(directory, await readIndex(join(directory, INDEX)))
  }

  projects(): ProjectName[] {
    return [...new Set(this.#eggs.map(({ project }) => project))]
  }

  /** Oldest first. */
  versions(project: ProjectName): VersionName[] {
    return this.#eggs.filter((egg) => egg.project === project).map(({ version }) => version)
  }

  pathOf(project: ProjectName, version: VersionName): string | null {
    const egg = this.#find(project, version)
    return egg === undefined ? null : placeOfEgg(this.#directory, egg)
  }

  /**
   * Stores an egg if `check` resolves for its file. Otherwise keeps the previous egg and rejects. Also rejects on a
   * wrong hash.
   */
  async put<T>(egg: EggUpload, content: Readable, check: (path: string) => Promise<T>): Promise<T> {
    // The egg arrives outside the mutex, because a slow sender must not block other senders.
    const part = join(this.#directory, `${randomUUID()}${PART}`)
    try {
      await receive(part, egg.sha256, content)
      return await this.#mutex.run(async () => this.#adopt(egg, part, check))
    } finally {
      await rm(part, { force: true })
    }
  }

  async #adopt<T>(egg: EggUpload, part: string, check: (path: string) => Promise<T>): Promise<T> {
    const path = placeOfEgg(this.#directory, egg)
    // An existing file has the same content, and a spider may have it open.
    if (!(await isThere(path))) {
      await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
      await rename(part, path)
    }
    const checked = await check(path)
    await this.#save([...this.#without(egg), egg])
    return checked
  }

  remove(project: ProjectName, version: VersionName): Promise<boolean> {
    return this.#mutex.run(async () => {
      if (this.#find(project, version) === undefined) return false
      await this.#save(this.#without({ project, version }))
      return true
    })
  }

  /**
   * Removes files that no version uses. A file remains until every run that was live when it became unused has ended,
   * because a spider can import from its egg at any time. `live`: unique names of the live runs.
   */
  sweep(live: readonly string[]): Promise<void> {
    return this.#mutex.run(async () => {
      const kept = new Set([INDEX, ...this.#eggs.map(({ sha256 }) => sha256)])
      const unused = (await readdir(this.#directory)).filter((name) => !kept.has(name) && !name.endsWith(PART))
      const before = this.#usedBy
      const usersOf = (name: string) => live.filter((run) => before.get(name)?.includes(run) !== false)
      this.#usedBy = new Map(unused.map((name) => [name, usersOf(name)]))
      for (const [name, runs] of this.#usedBy)
        if (runs.length === 0) await rm(join(this.#directory, name), { recursive: true, force: true })
    })
  }

  #find(project: ProjectName, version: VersionName): EggUpload | undefined {
    return this.#eggs.find((egg) => egg.project === project && egg.version === version)
  }

  #without({ project, version }: Pick<EggUpload, 'project' | 'version'>): EggUpload[] {
    return this.#eggs.filter((egg) => egg.project !== project || egg.version !== version)
  }

  async #save(eggs: readonly EggUpload[]): Promise<void> {
    const path = join(this.#directory, INDEX)
    {
      await using file = await open(`${path}.new`, 'w', 0o600)
      await file.writeFile(JSON.stringify(eggs))
      await file.sync()
    }
    await rename(`${path}.new`, path)
    this.#eggs = eggs
  }
}

async function receive(path: string, sha256: string, content: Readable): Promise<void> {
  const hash = createHash('sha256')
  await using file = await open(path, 'wx', 0o600)
  for await (const piece of content as AsyncIterable<Buffer>) {
    hash.update(piece)
    await file.write(piece)
  }
  if (hash.digest('hex') !== sha256) throw new Error('The egg arrived damaged: its hash differs.')
  await file.sync()
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false
  )

/** An unreadable index counts as empty. The leader sends the eggs again. */
async function readIndex(path: string): Promise<EggUpload[]> {
  try {
    return Index.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return []
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
