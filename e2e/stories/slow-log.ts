import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import type { Service } from '../support/service.ts'

/** A line that is dated later than all lines of the spider, because merged logs are ordered by time. */
export const line = (number: number, level = 'INFO') =>
  `2099-11-02 12:00:00 [story] ${level}: line ${number} of the story\n`

/** Starts a run of several minutes and returns its log file. The story also writes into it. */
export async function startSlow({ client, dataDirectory }: Service): Promise<{ id: string; path: string }> {
  const { jobs } = await client.jobs.run({ project: 'demo', spiders: ['slow'], args: { seconds: '300', delay: '30' } })
  const { id } = jobs[0]!
  await expect.poll(async () => (await client.jobs.get({ id })).job.state).toBe('running')
  const directory = join(dataDirectory, 'local', 'logs', 'demo', 'slow')
  await expect.poll(() => readdirSync(directory).filter((file) => file.startsWith(id)).length).toBe(1)
  return { id, path: join(directory, `${id}.log`) }
}

export const lastLines = (page: Page) => page.getByTestId('log').getByRole('log')
