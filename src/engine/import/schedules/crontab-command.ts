import { shellCommands, templateText } from './shell-words.ts'

/** The spider that a command line starts. `node`: the address of the Scrapyd that it calls. */
export interface StartedSpider {
  project: string
  spider: string
  version: string | null
  settings: Record<string, string>
  args: Record<string, string>
  node: string | null
}

type Pair = [name: string, value: string]

/** Commands that may precede the program and only affect how it runs. */
const WRAPPERS = new Set(['env', 'nohup', 'nice', 'ionice', 'time', 'exec', 'sudo', 'chronic', 'setsid'])

/** Finds the one command in a line that starts a spider; throws in words if there is none or no equivalent. */
export function readCommand(line: string, project: string | null, notes: string[]): StartedSpider {
  const commands = shellCommands(line).map(withoutWrappers)
  const started = commands.flatMap((words) => {
    const one = readScheduleRequest(words) ?? readScrapydClient(words) ?? readScrapyCrawl(words, project)
    return one === null ? [] : [one]
  })
  const [first] = started
  if (first === undefined)
    throw new Error('it starts no spider in a way that is recognized (schedule.json, scrapyd-client, scrapy crawl)')
  if (started.length > 1)
    throw new Error(
      'it starts several spiders one after another: create a schedule for each and connect them with chains'
    )
  const others = commands.filter(
    (words) => words.length > 0 && words[0] !== 'cd' && words[0] !== 'source' && words[0] !== '.'
  )
  if (others.length > 1) notes.push('the other commands of the line are dropped')
  return first
}

function withoutWrappers(words: string[]): string[] {
  let rest = words
  for (let first = rest[0]; first !== undefined; first = rest[0]) {
    const isWrapper =
      WRAPPERS.has(baseName(first)) || /^[A-Za-z_]\w*=/.test(first) || (rest !== words && first.startsWith('-'))
    if (!isWrapper) break
    // `-n 10`: the number also belongs to the wrapper.
    rest = rest.slice(/^-[a-z]$/.test(first) && /^\d+$/.test(rest[1] ?? '') ? 2 : 1)
  }
  return rest
}

/** curl, wget or HTTPie with `schedule.json`. */
function readScheduleRequest(words: string[]): StartedSpider | null {
  const program = baseName(words[0] ?? '')
  const address = words.find((word) => /\/schedule\.json(\?|$)/.test(word))
  if (address === undefined || !['curl', 'wget', 'http', 'https'].includes(program)) return null
  const pairs: Pair[] = [...queryPairs(address.split('?')[1] ?? '')]
  for (const [index, word] of words.entries()) {
    const [, flag, joined] =
      /^(-d|-F|--data(?:-urlencode|-raw|-binary|-ascii)?|--form|--post-data)(?:=?(.+))?$/s.exec(word) ?? []
    if (flag !== undefined) {
      const text = joined ?? words[index + 1] ?? ''
      if (text.startsWith('@')) throw new Error(`${text} is a file: write its content instead`)
      // Form and --data-urlencode values are literal pairs; any other body is encoded and may hold several pairs.
      pairs.push(
        ...(flag === '-F' || flag === '--form' || flag.endsWith('urlencode') ? [pairOf(text)] : queryPairs(text))
      )
    } else if (program.startsWith('http') && /^[A-Za-z_]\w*={1,2}[^=]/.test(word))
      pairs.push(pairOf(word.replace('==', '=')))
  }
  const base = address.replace(/\/schedule\.json.*$/, '')
  return fromPairs(pairs, `${base.replace(/^(https?:\/\/)?[^/@]*@/, '$1')}/`)
}

/** `scrapyd-client schedule -p PROJECT [-t URL] SPIDER [--arg NAME=VALUE]` */
function readScrapydClient(words: string[]): StartedSpider | null {
  if (baseName(words[0] ?? '') !== 'scrapyd-client' || words[1] !== 'schedule') return null
  const found = { project: '', spider: '', node: null as string | null }
  const pairs: Pair[] = []
  for (let index = 2; index < words.length; index += 1) {
    const word = words[index]!
    const next = words[index + 1] ?? ''
    if (word === '-p' || word === '--project') found.project = next
    else if (word === '-t' || word === '--target') found.node = next.endsWith('/') ? next : `${next}/`
    else if (word === '--arg' || word === '--args') pairs.push(pairOf(next))
    else {
      if (!word.startsWith('-')) found.spider = word
      continue
    }
    index += 1
  }
  if (found.spider === '*') throw new Error('it starts all spiders of a project: list them')
  return fromPairs([['project', found.project], ['spider', found.spider], ...pairs], found.node)
}

/** `scrapy crawl SPIDER -a NAME=VALUE -s NAME=VALUE`, also as `python -m scrapy`. */
function readScrapyCrawl(words: string[], project: string | null): StartedSpider | null {
  const at = words.findIndex((word, index) => word === 'crawl' && baseName(words[index - 1] ?? '') === 'scrapy')
  if (at < 0) return null
  if (project === null) throw new Error('"scrapy crawl" does not say which project: name it with --project')
  const pairs: Pair[] = [['project', project]]
  for (let index = at + 1; index < words.length; index += 1) {
    const word = words[index]!
    const [, flag, joined] = /^(-a|-s|--set)=?(.+)?$/s.exec(word) ?? []
    if (flag !== undefined) {
      const text = joined ?? words[(index += 1)] ?? ''
      pairs.push(flag === '-a' ? pairOf(text) : ['setting', text])
    } else if (/^(-L|--loglevel)$/.test(word)) pairs.push(['setting', `LOG_LEVEL=${words[((index += 1))] ?? ''}`])
    else if (/^(-o|-O|-t|--output|--overwrite-output|--logfile|--pidfile|--profile)/.test(word)) {
      throw new Error(`${word} is not possible in a job: use FEEDS in the project's settings`)
    } else if (!word.startsWith('-')) pairs.push(['spider', word])
  }
  return fromPairs(pairs, null)
}

function fromPairs(pairs: Pair[], node: string | null): StartedSpider {
  const started: StartedSpider = { project: '', spider: '', version: null, settings: {}, args: {}, node }
  const settings: Pair[] = []
  const args: Pair[] = []
  for (const [name, value] of pairs) {
    if (name === 'project' || name === 'spider') started[name] = value
    else if (name === '_version') started.version = value
    else if (name === 'setting') settings.push(pairOf(value))
    // Scrapdeck generates the jobid; Scrapyd's priorities are on another scale.
    else if (name !== 'jobid' && name !== 'priority') args.push([name, templateText(value)])
  }
  if (started.project === '' || started.spider === '') throw new Error('it has no project or no spider')
  if (/\u0000/.test(started.project + started.spider))
    throw new Error('its project or spider comes from a shell expansion')
  started.settings = Object.fromEntries(settings.map(([name, value]) => [name, templateText(value)]))
  started.args = Object.fromEntries(args)
  return started
}

function pairOf(text: string): Pair {
  const at = text.indexOf('=')
  if (at < 1) throw new Error(`"${text}" is not NAME=VALUE`)
  return [text.slice(0, at), text.slice(at + 1)]
}

const queryPairs = (text: string): Pair[] => (text === '' ? [] : [...new URLSearchParams(text)])
const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
