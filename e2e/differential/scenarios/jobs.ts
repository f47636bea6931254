import { reporterEgg } from '../eggs.ts'
import { get, post, postForm, postMultipart } from '../http.ts'
import type { Pair } from '../pair.ts'
import type { Scenario } from './scenario.ts'

/** scrapyd-protocol.md, 3.5 to 3.8 and 6. Each side has one slot, which a spider holds while others wait. */

async function deploy(pair: Pair, project: string, version = '1'): Promise<void> {
  const egg = await reporterEgg()
  await pair.ask(
    postMultipart('addversion.json', [
      ['project', project],
      ['version', version],
      ['egg', egg]
    ])
  )
}

const status = (job: string, project?: string) =>
  get(
    `/status.json?job=${encodeURIComponent(job)}${project === undefined ? '' : `&project=${encodeURIComponent(project)}`}`
  )

async function lookAround(pair: Pair): Promise<void> {
  await pair.askAll([get('/listjobs.json?project=p'), get('/listjobs.json'), get('/daemonstatus.json'), get('/jobs')])
}

const life: Scenario = {
  name: 'a job pending, running, finished',
  isShort: true,
  async run(pair) {
    await deploy(pair, 'p')
    await lookAround(pair)
    await pair.hold('p', 'first')
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: 'second', a: '1', setting: 'X=y' }))
    await pair.settle()
    await lookAround(pair)
    const known = ['first', 'second', 'none', '']
    await pair.askAll([
      ...known.map((job) => status(job, 'p')),
      ...known.map((job) => status(job)),
      status('first', 'q')
    ])
    await pair.askAll([get('/status.json'), get('/status.json?project=p'), get('/status.json?job=%ff')])
    pair.release('first')
    await pair.untilReported('second.json')
    await pair.settle()
    await lookAround(pair)
    await pair.askAll([status('first', 'p'), status('second')])
    await pair.ask(post('cancel.json', { project: 'p', job: 'first' }))
  }
}

const cancelPending: Scenario = {
  name: 'cancelling what waits',
  async run(pair) {
    await deploy(pair, 'p')
    await pair.hold('p', 'holder-2')
    for (const jobid of ['one', 'two', 'double', 'double', 'three']) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid }))
    }
    const forms: Record<string, string>[] = [
      {},
      { project: 'p' },
      { job: 'one' },
      { project: 'q', job: 'one' },
      { project: 'p', job: 'none' },
      { project: 'p', job: '' },
      { project: 'p', job: 'one' },
      { project: 'p', job: 'one' },
      { project: 'p', job: 'double' },
      { project: 'p', job: 'two', signal: 'KILL' },
      { project: 'p', job: 'three', signal: 'nonsense' }
    ]
    for (const form of forms) await pair.ask(post('cancel.json', form))
    await pair.ask(postForm('cancel.json', 'project=p&job=%ff'))
    await pair.ask(postForm('cancel.json', 'project=p&job=x&signal=%ff'))
    await lookAround(pair)
  }
}

const cancelRunning: Scenario = {
  name: 'cancelling what runs, by every signal',
  async run(pair) {
    await deploy(pair, 'p')
    for (const signal of [null, 'INT', 'TERM', 'KILL', 'HUP', '2', '9', '15']) {
      const job = `by-${signal}`
      await pair.hold('p', job)
      await pair.ask(post('cancel.json', { project: 'p', job, ...(signal === null ? {} : { signal }) }))
      await pair.untilEnded(job)
      await pair.ask(status(job))
      await pair.ask(post('cancel.json', { project: 'p', job }))
      await pair.ask(get('/daemonstatus.json'))
    }
    await pair.hold('p', 'wrong')
    for (const signal of [
      'nonsense',
      'SIGINT',
      'int',
      '',
      '0',
      '00',
      '999',
      '99999999999999999999',
      '-9',
      '1.5',
      ' 9',
      '²',
      'QUIT',
      'USR1'
    ]) {
      await pair.ask(post('cancel.json', { project: 'p', job: 'wrong', signal }))
      await pair.ask(post('cancel.json', { project: 'p', job: 'none', signal }))
    }
    await pair.ask(status('wrong'))
    await pair.ask(post('cancel.json', { project: 'p', job: 'wrong', signal: 'KILL' }))
    await pair.untilEnded('wrong')
    await pair.hold('p', 'stopped')
    await pair.ask(post('cancel.json', { project: 'p', job: 'stopped', signal: 'STOP' }))
    await pair.ask(status('stopped'))
    await pair.ask(post('cancel.json', { project: 'p', job: 'stopped', signal: '18' }))
    await pair.ask(post('cancel.json', { project: 'p', job: 'stopped', signal: 'KILL' }))
    await pair.untilEnded('stopped')
    await lookAround(pair)
  }
}

const signalsSeen: Scenario = {
  name: 'the signals that a deaf spider hears',
  async run(pair) {
    await deploy(pair, 'p')
    await pair.hold('p', 'deaf', 'deaf')
    for (const signal of ['INT', 'TERM', 'HUP']) {
      await pair.ask(post('cancel.json', { project: 'p', job: 'deaf', signal }))
      await pair.untilReported(`deaf.SIG${signal}`)
      await pair.ask(status('deaf'))
    }
    pair.release('deaf')
    await pair.untilEnded('deaf')
    await pair.ask(status('deaf'))
  }
}

const order: Scenario = {
  name: 'the order in which waiting jobs start',
  async run(pair) {
    await deploy(pair, 'p')
    await pair.hold('p', 'holder-5')
    const priorities = ['0', '1', '-1', '1.5', '1', '1e1', '-inf']
    for (const [index, priority] of priorities.entries()) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: `order-${index}`, priority }))
    }
    await pair.ask(get('/listjobs.json?project=p'))
    await pair.ask(get('/jobs'))
    pair.release('holder-5')
    await pair.untilReported(`order-${priorities.indexOf('-inf')}.json`)
    await pair.settle()
    pair.compareFacts('order of starts', (side) =>
      pair
        .report(side, 'order.txt')
        .split('\n')
        .filter((line) => line.startsWith('order-'))
    )
    await pair.ask(get('/listjobs.json?project=p'))
  }
}

const PRIORITIES = [
  '',
  ' ',
  'x',
  '1',
  ' 1 ',
  '+1',
  '1_0',
  '_1',
  '1_',
  '1__0',
  '0x10',
  '1e3',
  '.5',
  '5.',
  'inf',
  '-inf',
  'Infinity',
  'nan',
  '-nan',
  'INF',
  '1e400',
  '1e-400',
  '٣',
  '１',
  '1,5',
  '1\n',
  '\t2',
  '--1',
  'None',
  'true'
]

const priorities: Scenario = {
  name: 'every spelling of a priority',
  async run(pair) {
    await deploy(pair, 'p')
    await pair.hold('p', 'holder-6')
    for (const [index, priority] of PRIORITIES.entries()) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: `p${index}`, priority }))
    }
    await pair.ask(postForm('schedule.json', 'project=p&spider=report&priority=%ff'))
    await pair.ask(postForm('schedule.json', 'project=p&spider=report&priority=%00'))
    await pair.ask(get('/listjobs.json?project=p'))
  }
}

const reserved: Scenario = {
  name: 'spider arguments with names that mean something else',
  async run(pair) {
    await deploy(pair, 'p')
    await pair.hold('p', 'holder-7')
    const names = [
      'name',
      'settings',
      '_job',
      'spider_name',
      'self',
      '_project',
      '_spider',
      'version',
      'egg',
      'job',
      'node_name',
      'priority ',
      'Setting',
      'args',
      '__class__',
      'kwargs',
      ''
    ]
    for (const name of names) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: `arg-${name}`, [name]: 'value' }))
    }
    await pair.ask(get('/listjobs.json?project=p'))
  }
}

const twins: Scenario = {
  name: 'one job id for several jobs',
  // Finished jobs with the same id would stay in every later list.
  needsOwnServers: true,
  async run(pair) {
    await deploy(pair, 'p')
    await deploy(pair, 'q')
    await pair.hold('p', 'twin')
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: 'twin' }))
    await pair.ask(post('schedule.json', { project: 'q', spider: 'report', jobid: 'twin' }))
    await pair.askAll([status('twin'), status('twin', 'p'), status('twin', 'q')])
    await pair.askAll([get('/listjobs.json?project=p'), get('/listjobs.json?project=q'), get('/daemonstatus.json')])
    await pair.ask(post('cancel.json', { project: 'q', job: 'twin' }))
    await pair.ask(status('twin', 'q'))
    await pair.ask(post('cancel.json', { project: 'p', job: 'twin' }))
    await pair.untilEnded('twin')
    await pair.askAll([status('twin'), status('twin', 'p'), get('/listjobs.json?project=p')])
    pair.release('twin')
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: 'twin' }))
    await pair.untilEnded('twin')
    await pair.askAll([status('twin'), status('twin', 'p'), get('/listjobs.json?project=p')])
  }
}

const pruning: Scenario = {
  name: 'what jobs_to_keep removes',
  jobsToKeep: 2,
  async run(pair) {
    await deploy(pair, 'p')
    for (let number = 1; number <= 6; number++) {
      // The list has one more job than jobs_to_keep, because pruning happens when a job starts, before its own files
      // appear.
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: `pruned-${number}` }))
      await pair.untilEnded(`pruned-${number}`)
      await pair.ask(get('/listjobs.json'))
    }
    await pair.ask(get('/jobs'))
  }
}

const deletedWithJobs: Scenario = {
  name: 'deleting what has jobs',
  async run(pair) {
    await deploy(pair, 'p', '1')
    await deploy(pair, 'p', '2')
    await deploy(pair, 'q')
    await pair.hold('p', 'holder-9')
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: 'old', _version: '1' }))
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid: 'new' }))
    await pair.ask(post('schedule.json', { project: 'q', spider: 'report', jobid: 'other' }))
    await pair.ask(post('delversion.json', { project: 'p', version: '1' }))
    await lookAround(pair)
    await pair.ask(post('schedule.json', { project: 'p', spider: 'report', _version: '1' }))
    await pair.ask(post('cancel.json', { project: 'p', job: 'old' }))
    await pair.ask(post('delproject.json', { project: 'p' }))
    await pair.askAll([
      get('/listjobs.json?project=p'),
      get('/listjobs.json'),
      get('/daemonstatus.json'),
      status('new'),
      status('holder-9'),
      status('new', 'p')
    ])
    await pair.ask(post('cancel.json', { project: 'p', job: 'holder-9' }))
    await deploy(pair, 'p', '3')
    await lookAround(pair)
    await pair.ask(post('cancel.json', { project: 'p', job: 'new' }))
    await pair.ask(post('cancel.json', { project: 'q', job: 'other' }))
    await pair.ask(get('/listjobs.json?project=q'))
  }
}

const STRANGE_IDS = ['a b', 'ünï ☃', "q'uote", '<i>', '%2e', 'x'.repeat(180), 'a;b&c=d', '-']

/** With these ids, Scrapyd would create hidden files or names with line breaks. */
const POOR_FILE_NAMES = ['', '.', 'new\nline', 'back\\slash']

const poorFileNames: Scenario = {
  name: 'job ids that make poor file names',
  async run(pair) {
    await deploy(pair, 'p')
    for (const jobid of POOR_FILE_NAMES) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid }))
      await pair.settle()
      await pair.ask(status(jobid))
      await pair.ask(get('/listjobs.json?project=p'))
    }
  }
}

const strangeIds: Scenario = {
  name: 'job ids of all kinds, to their end',
  async run(pair) {
    await deploy(pair, 'p')
    for (const jobid of STRANGE_IDS) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid }))
      await pair.settle()
      await pair.ask(status(jobid))
    }
    await lookAround(pair)
    for (const jobid of STRANGE_IDS) {
      const name = encodeURIComponent(jobid)
      await pair.ask(get(`/items/p/report/${name}.jl`))
      await pair.ask({ method: 'HEAD', path: `/items/p/report/${name}.jl` })
    }
    await pair.ask(get('/items/p/report/'))
  }
}

const lostSlots: Scenario = {
  name: 'job ids that cost Scrapyd a slot',
  needsOwnServers: true,
  async run(pair) {
    await deploy(pair, 'p')
    for (const jobid of ['../x', 'a/b', '..', '/etc/x', '\0nul', 'x'.repeat(300)]) {
      await pair.ask(post('schedule.json', { project: 'p', spider: 'report', jobid }))
    }
    await pair.ask(post('schedule.json', { project: 'p', spider: 'nobody', jobid: 'x' }))
  }
}

export const jobScenarios: Scenario[] = [
  life,
  cancelPending,
  order,
  cancelRunning,
  signalsSeen,
  priorities,
  reserved,
  twins,
  pruning,
  deletedWithJobs,
  strangeIds,
  poorFileNames,
  lostSlots
]
