import { expect, it } from 'vitest'
import { openTestApp } from '../testing/test-app.ts'

const ID = '019b0000000000000000000000000009'

it('all items of a job are one download, with the name and type of its format', async () => {
  const { ask } = openTestApp()
  const { statusCode, headers, body } = await ask({ url: `/api/v1/jobs/${ID}/items/export?format=csv` })
  expect(statusCode).toBe(200)
  expect(headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-length': '12',
    'cache-control': 'no-store'
  })
  expect(headers['content-disposition']).toMatch(/^attachment; filename="items-[0-9a-f]{32}\.csv"$/)
  expect(body).toBe('name,price\r\n')
})

it.each([
  ['?format=xml', '"format" is one of jsonl, json, csv, parquet.'],
  ['?formt=csv', 'jobs.itemsExport has no "formt" in its query.']
])('%s is refused before anything is written', async (query, message) => {
  const { ask } = openTestApp()
  const response = await ask({ url: `/api/v1/jobs/${ID}/items/export${query}` })
  expect(response.statusCode).toBe(400)
  expect(response.json()).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining(message) })
})
