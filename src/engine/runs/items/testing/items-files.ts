import { stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ItemsSource, PageInput } from '../messages.ts'

export async function anItemsFile(directory: string, content: string | Buffer, name = 'run.jl'): Promise<ItemsSource> {
  const path = join(directory, name)
  await writeFile(path, content)
  const { size, dev, ino } = await stat(path)
  return {
    path,
    fileId: `${dev}-${ino}`,
    sizeBytes: size,
    convertedPath: join(directory, `${name}.lines`),
    convertedMaxBytes: 1e9,
    spillDirectory: join(directory, 'spill')
  }
}

export const aPage = (over: Partial<PageInput> = {}): PageInput => ({
  offset: 0,
  limit: 100,
  columns: null,
  sort: null,
  filter: [],
  ...over
})

export const jsonLines = (items: readonly unknown[]): string =>
  items.map((item) => `${JSON.stringify(item)}\n`).join('')
