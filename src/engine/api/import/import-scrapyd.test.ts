import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anEgg } from '../../testing/archives.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { importScrapyd } from './import-scrapyd.ts'

test.skipIf(process.platform === 'win32')(
  'what cannot be imported is reported, and does not prevent the rest',
  async () => {
    await using directory = await makeTemporaryDirectory()
    const at = (...parts: string[]) => join(directory.path, ...parts)
    const evil = '\u001B[2J'
    for (const folder of [at('eggs', 'shop'), at('eggs', evil), at('dbs'), at('logs', 'shop')]) {
      await mkdir(folder, { recursive: true })
    }
    await writeFile(at('eggs', 'shop', '9.egg'), await anEgg())
    await symlink('nowhere', at('eggs', 'shop', '2.egg'))
    await mkdir(at('eggs', 'shop', '3.egg'))
    await writeFile(at('eggs', evil, '1.egg'), await anEgg())
    for (const pipe of [at('eggs', 'shop', '1.egg'), at('dbs', 'shop.db'), at('logs', 'shop', 'a.log')]) {
      execFileSync('mkfifo', [pipe])
    }
    await writeFile(at('logs', 'shop', 'b.log'), 'text')
    await writeFile(at('logs', 'shop', `${'n'.repeat(251)}.log`), 'text')

    const lines: string[] = []
    const counts = await importScrapyd({
      source: { eggs: at('eggs'), logs: at('logs'), items: null, databases: at('dbs'), settingsProjects: [] },
      dataDirectory: at('data'),
      dryRun: false,
      report: (line) => lines.push(line)
    })
    expect(counts.eggs).toEqual({ taken: 1, known: 0, skipped: 4 })
    expect(counts.logs).toEqual({ taken: 1, known: 0, skipped: 1 })
    expect(lines.filter((line) => line.startsWith('skipped '))).toHaveLength(5)
    expect(lines.join('')).not.toMatch(/\p{Cc}/u)
  }
)
