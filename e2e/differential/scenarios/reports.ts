import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reporterEgg } from '../eggs.ts'
import { postMultipart, post } from '../http.ts'
import type { Pair, Side } from '../pair.ts'
import type { Scenario } from './scenario.ts'

/** What a spider sees of its process and what it leaves behind (scrapyd-protocol.md, 6.4 and 6.7). */

interface Report {
  argv: string[]
  environment: Record<string, string>
  file: string
  flags: string
  [more: string]: unknown
}

async function deploy(pair: Pair, version: string): Promise<void> {
  const egg = await reporterEgg([], `MARK = "version ${version}"\n`)
  await pair.ask(
    postMultipart('addversion.json', [
      ['project', 'p'],
      ['version', version],
      ['egg', egg]
    ])
  )
}

/** Returns only variables that the server added or changed. The others come from this test's process. */
function addedVariables(environment: Record<string, string>): Record<string, string> {
  const added = Object.entries(environment).filter(([name, value]) => process.env[name] !== value)
  return Object.fromEntries(added.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function compareJob(pair: Pair, jobid: string): void {
  const reports = new Map(
    pair.sides.map((side) => [side.name, JSON.parse(pair.report(side, `${jobid}.json`)) as Report])
  )
  const fact = (name: string, of: (report: Report, side: Side) => unknown) =>
    pair.compareFacts(`${jobid}/${name}`, (side) => of(reports.get(side.name)!, side))
  fact('argv', (report) => report.argv)
  fact('environment', (report) => addedVariables(report.environment))
  fact('missing variables', (report) =>
    Object.keys(process.env)
      .filter((name) => !(name in report.environment))
      .sort()
  )
  for (const name of Object.keys(reports.get('theirs')!)) {
    if (!['argv', 'environment'].includes(name)) fact(name, (report) => report[name])
  }
  const filesOf = (report: Report) => {
    const value = (name: string) => report.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
    const feed = Object.keys(JSON.parse(value('FEEDS') ?? '{}') as object)[0]
    return { log: value('LOG_FILE'), items: feed && decodeURIComponent(new URL(feed).pathname) }
  }
  fact('log', (report, side) => {
    const { log } = filesOf(report)
    return log !== undefined && existsSync(log) ? logShape(readFileSync(log, 'utf8'), side) : 'no log file'
  })
  fact('items', (report) => {
    const { items } = filesOf(report)
    return items !== undefined && existsSync(items) ? readFileSync(items, 'utf8') : 'no items file'
  })
  for (const tree of ['logs', 'items']) {
    const name = `${jobid}.${tree === 'logs' ? 'log' : 'jl'}`
    fact(`${tree}_dir`, (_report, side) => existsSync(join(side.directory, tree, 'p', 'report', name)))
  }
}

/** Returns the lines without times, sizes and measurements. Keeps only the names of statistics. */
function logShape(log: string, { directory }: Side): string[] {
  return log
    .replaceAll(directory, '<directory>')
    .split('\n')
    .map((line) =>
      line
        .replace(/\(job [^)]*\)/, '(job …)')
        .replace(/\d[\d.,:+-]*/g, '#')
        .replace(/datetime\.\w+\(.*?\)/g, '<time>')
        .replace(/tzinfo=.*$/, '')
    )
    .map((line) => line.replace(/'memusage\/.*$/, "'memusage/…"))
}

async function runJob(pair: Pair, jobid: string, more: [string, string][] = []): Promise<void> {
  await pair.ask(post('schedule.json', [['project', 'p'], ['spider', 'report'], ['jobid', jobid], ...more]))
  await pair.untilReported(`${jobid}.json`)
  await pair.settle()
  compareJob(pair, jobid)
}

const plain: Scenario = {
  name: 'what a spider sees of its process',
  isShort: true,
  async run(pair) {
    await deploy(pair, '1')
    await runJob(pair, 'seen')
  }
}

const settings: Scenario = {
  name: 'what a spider sees of settings, arguments and versions',
  async run(pair) {
    await deploy(pair, '1')
    await deploy(pair, '2')
    await runJob(pair, 'full', [
      ['_version', '1'],
      ['zeta', 'last letter first'],
      ['alpha', 'ä;b&c=d "q" \'s\''],
      ['empty', ''],
      ['newline', 'one\ntwo'],
      ['setting', 'USER_AGENT=x; y=z & ü'],
      ['setting', 'CUSTOM=one=two'],
      ['setting', 'CUSTOM_LIST=a,b'],
      ['setting', 'CUSTOM=later'],
      ['priority', '3'],
      ['_version', '2']
    ])
    await runJob(pair, 'overridden', [
      ['setting', 'LOG_FILE=/dev/null'],
      ['setting', 'LOG_LEVEL=INFO'],
      ['setting', 'FEEDS={}'],
      ['setting', 'AFTER=x'],
      ['setting', 'MARK=from the command line']
    ])
    await runJob(pair, 'latest', [
      ['_project', 'lost'],
      ['_spider', 'lost']
    ])
    await runJob(pair, 'newest', [['_version', '2']])
    await runJob(pair, 'epoll', [['setting', 'TWISTED_REACTOR=twisted.internet.epollreactor.EPollReactor']])
  }
}

export const reportScenarios: Scenario[] = [plain, settings]
