import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { WaitingCode } from './contract/jobs.ts'

it('docs/queue-and-policies.md explains every waiting code, and no other', () => {
  const page = readFileSync(new URL('../../docs/queue-and-policies.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('## Why a job waits'))
  const documented = [...table.matchAll(/^\| `([a-z_]+)` \| .+ \| .+ \|$/gm)].map(([, code]) => code)
  expect(documented.sort()).toEqual([...WaitingCode.options].sort())
})
