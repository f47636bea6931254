import { WITHOUT_FILES } from '../../../src/engine/access/run-rights.ts'
import { basicAuthorization } from '../../support/basic-authorization.ts'
import type { Attack } from '../attack.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const HOURLY = { rules: [{ kind: 'interval', everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC' }
const CREDENTIALS = { username: 'mallory', password: 'an operator of one project' }
const ACCEPTED = 300
/** Addresses that Scrapy reads as `file:`. */
const SPELLED = [
  ...['fi\tle:///etc/passwd', 'fi\nle:///etc/passwd', '\u0001file:///etc/passwd', '\u001f FiLe:/etc/passwd'],
  ...['["fi\\tle:///etc/passwd"]', '["\\u0066ile:///etc/passwd"]', "{nominal:'file'}:///etc/passwd"]
]

type Settings = Record<string, string>
const isOpen = ({ DOWNLOAD_HANDLERS_BASE: handlers }: Settings) => handlers !== WITHOUT_FILES.DOWNLOAD_HANDLERS_BASE

export const fileAttacks: Attack[] = [
  {
    name: 'an operator of one project has a node read its files, by each door and spelling',
    door: 'rest',
    async run({ watched, attacker }) {
      const { client } = watched.service
      const projects = { demo: 'operator' as const }
      const { user } = await client.users.create({
        name: CREDENTIALS.username,
        role: null,
        projects,
        password: CREDENTIALS.password
      })
      const authorization = basicAuthorization(CREDENTIALS)
      const post = async (path: string, body: unknown) =>
        (await attacker.sendJson(path, body, { authorization })).status
      const order = async (page: string, name: string) => {
        const run = { project: 'demo', spiders: ['quotes'], args: { page } }
        const body = new URLSearchParams({ project: 'demo', spider: 'quotes', page }).toString()
        const form = { method: 'POST', path: '/schedule.json', headers: { ...FORM, authorization }, body }
        return [
          await post('/api/v1/jobs', run),
          await post('/api/v1/jsonrpc', { jsonrpc: '2.0', id: 1, method: 'jobs.run', params: run }),
          await post('/crawl', { project: 'demo', spider: 'quotes', start_urls: [page], ignore_cache: true }),
          (await attacker.send(form)).status,
          await post('/api/v1/schedules', { ...HOURLY, name, jobs: [run] }),
          await post('/api/v1/chains', { name, project: 'demo', spider: 'none', on: 'ended', run })
        ]
      }
      try {
        const statuses: number[] = []
        for (const [at, page] of SPELLED.entries()) statuses.push(...(await order(page, `files ${at}`)))
        const { schedules } = await client.schedules.list({})
        const mine = schedules.filter(({ name }) => name.startsWith('files '))
        for (const { id } of mine) await client.schedules.runNow({ id })
        const jobs = (await client.jobs.list({})).jobs.filter(({ args }) => 'page' in args || 'start_urls' in args)
        const chains = (await client.chains.list({})).chains.filter(({ name }) => name.startsWith('files '))
        const templates = [...mine.flatMap((schedule) => schedule.jobs), ...chains.map(({ run }) => run)]
        // The first address passes the check of addresses, so all six requests with it must be accepted.
        const isTried = statuses.slice(0, 6).every((status) => status < ACCEPTED) && chains.length > 1
        return [
          ...statuses.filter((status) => status >= 500).map((status) => `an order was answered ${status}`),
          ...(isTried && jobs.length > SPELLED.length ? [] : [`too little was tried: ${statuses.join()}`]),
          ...jobs.filter(({ settings }) => isOpen(settings)).map(({ id }) => `job ${id} can read files of its node`),
          ...templates.filter(({ settings }) => isOpen(settings)).map(() => 'a template can read files of its node')
        ]
      } finally {
        const ids = (await client.schedules.list({})).schedules.map(({ id }) => id)
        await client.schedules.remove({ ids })
        for (const { id } of (await client.chains.list({})).chains) await client.chains.remove({ id })
        const { jobs } = await client.jobs.list({})
        await client.jobs.cancel({ ids: jobs.map(({ id }) => id) })
        await client.users.remove({ id: user.id })
      }
    }
  }
]
