import type { Attack, Target } from '../attack.ts'

const SCHEDULES = '/api/v1/schedules'
const cron = (expression: string) => ({ kind: 'cron', expression })
const everySecond = cron('* * * * * *')
const NEARLY_ALL = [
  ...Array.from({ length: 17 }, (_, hour) => `0 ${hour} 0 1 1 *`),
  ...['0-58 * * * * *', '59 0-58 * * * *', '59 59 1-4,6-9,11-14,16-19,21-23 * * *']
]
const NEVER = { rules: [{ kind: 'interval', everySeconds: 60, anchorMs: 30_000 }], excludedCrons: ['1-59 * * * * *'] }

const TIMINGS: Record<string, object> = {
  'exclusions of nearly every second': { rules: [everySecond], excludedCrons: NEARLY_ALL },
  'the same with 20 rules': {
    rules: Array.from({ length: 20 }, (_, index) => cron(`* * * ${index + 1}-31 * *`)),
    excludedCrons: NEARLY_ALL
  },
  'exclusions of every second': { rules: [everySecond], excludedCrons: [...NEARLY_ALL.slice(0, -1), '59 59 * * * *'] },
  'exclusions that an interval never meets': NEVER,
  'one run in a year': { rules: [cron('0 0 1 1 *')], excludedCrons: NEARLY_ALL.slice(0, -3) }
}

const many = Array.from({ length: 100 }, (_, number) => String(number))
const matrix = { x: many, y: many }
const texts = (value: string) => Object.fromEntries(many.map((name) => [`a${name}`, value]))
const TEMPLATES: Record<string, object[]> = {
  'placeholders in 10,000 jobs': [{ args: { a: '{nominal:yyyy}'.repeat(500) }, matrix }],
  '100 KB in 10,000 jobs': [{ args: { a: `${'x'.repeat(100_000)}{nominal:yyyy}` }, matrix }],
  '10,000 jobs with as much as they may have': [{ args: { a: `${'x'.repeat(1_500)}{nominal:yyyy}` }, matrix }],
  '10,000 jobs with 48 arguments each': [
    { args: Object.fromEntries(many.slice(2, 50).map((name) => [name, ''])), matrix }
  ],
  'a matrix of 900 names': [
    {
      matrix: {
        ...Object.fromEntries(many.flatMap((one) => many.slice(0, 9).map((two) => [`${one}-${two}`, ['x']]))),
        ...matrix
      }
    }
  ],
  '50 templates of 100 spiders and 2 sets': Array.from({ length: 50 }, (_, index) => ({
    spiders: many.map((name) => `s${name}`),
    argSets: [texts(`${index}{now:unix}`), { a: '{previous}'.repeat(100) }]
  })),
  '3 MB of literal braces': [{ args: { a: '{{'.repeat(1_450_000) } }],
  'a million placeholders': [{ args: texts('{now}'.repeat(7_000)) }]
}

async function withSchedule(
  { attacker }: Target,
  settings: object,
  use: (id: string) => Promise<{ what: string; status: number }[]>
): Promise<string[]> {
  const name = `attack ${Math.random()}`
  const body = { name, zone: 'UTC', overlap: 'skip', rules: [cron('0 0 1 1 *')], ...settings }
  const created = await attacker.sendJson(SCHEDULES, body)
  const id = /"id":"([0-9a-f]{32})"/.exec(created.body)?.[1]
  const answers = [{ what: 'creating it', status: created.status }]
  if (id !== undefined) {
    answers.push(...(await use(id)))
    await attacker.sendJson(`${SCHEDULES}/remove`, { ids: [id] })
  }
  return answers.filter(({ status }) => status >= 500 || status === 0).map(({ what, status }) => `${what}: ${status}`)
}

export const scheduleAttacks: Attack[] = [
  ...Object.entries(TIMINGS).map(
    ([name, timing]): Attack => ({
      name: `run times: ${name}`,
      door: 'rest',
      async run(target) {
        const { attacker, scale } = target
        const preview = { timing: { zone: 'UTC', ...timing }, count: 1_000 }
        const got = await attacker.sendJson(`${SCHEDULES}/preview`, preview)
        const complaints = got.status < 500 ? [] : [`the preview: ${got.status}`]
        const nowMs = Date.now()
        const span = { fromMs: nowMs - (scale === 1 ? 200 : 20) * 86_400_000, untilMs: nowMs }
        const jobs = [{ project: 'demo', spiders: ['quotes'] }]
        complaints.push(
          ...(await withSchedule(target, { ...timing, jobs }, async (id) => {
            const plan = await attacker.sendJson(`${SCHEDULES}/${id}/backfill/plan`, span)
            const range = `fromMs=${nowMs}&untilMs=${nowMs + 23 * 86_400_000}`
            const calendar = await attacker.send({ path: `${SCHEDULES}/calendar?${range}` })
            const load = await attacker.send({ path: `${SCHEDULES}/load?${range}` })
            return [
              { what: 'the plan of a backfill', status: plan.status },
              { what: 'the calendar', status: calendar.status },
              { what: 'the load', status: load.status }
            ]
          }))
        )
        return complaints
      }
    })
  ),
  ...Object.entries(TEMPLATES).flatMap(([name, templates]) =>
    ['demo', 'ghost'].map(
      (project): Attack => ({
        name: `a firing of ${name}, ${project === 'demo' ? 'deployed' : 'of no project'}`,
        // Only the long form plays attacks that queue jobs or take long to send.
        isLong: project === 'demo' || name.includes('braces'),
        door: 'rest',
        run: (target) =>
          withSchedule(
            target,
            { jobs: templates.map((template) => ({ project, spiders: ['quotes'], ...template })) },
            async (id) => {
              const { status } = await target.attacker.sendJson(`${SCHEDULES}/${id}/run`, {})
              return [{ what: 'running it', status }]
            }
          )
      })
    )
  ),
  {
    name: 'a chain, and a crawl order that repeats, of more than they may have',
    door: 'rest',
    async run({ attacker }) {
      const run = { project: 'demo', spiders: ['quotes'], args: { a: 'x'.repeat(100_000) }, matrix }
      const chain = { name: 'attack', project: 'demo', spider: '*', on: 'succeeded', run }
      const order = { project: 'demo', spider: 'quotes', params: { a: 'x'.repeat(3_500_000) }, interval: 3_600 }
      const answers = [
        await attacker.sendJson('/api/v1/chains', chain),
        await attacker.sendJson('/api/v1/crawl', order)
      ]
      return answers.filter(({ status }) => status !== 413).map(({ status, body }) => `${status} ${body.slice(0, 200)}`)
    }
  }
]
