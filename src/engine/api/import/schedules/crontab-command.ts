import { shellCommands, templateText } from './shell-words.ts'

/** `node` is the address of the Scrapyd that the command calls. */
export interface StartedSpider {
  project: string
  spider: string
  version: string | null
  settings: Record<string, string>
  args: Record<string, string>
  node: string | null
}

type Pair = [name: string, value: string]

/**
 * Commands that can precede the program. `values`: options that take the next word as their value. `operands`: the
 * number of other words before the program.
 */
const WRAPPERS = new Map<string, { values?: string[]; operands?: number }>([
  ...['nohup', 'chronic', 'cronic', 'setsid', 'sh', 'bash', 'dash', 'zsh'].map((name) => [name, {}] as const),
  ['env', { values: ['-u', '--unset', '-C', '--chdir'] }],
  ['exec', { values: ['-a'] }],
  ['flock', { values: ['-w', '--wait', '--timeout', '-E', '--conflict-exit-code'], operands: 1 }],
  ['ionice', { values: ['-c', '--class', '-n', '--classdata'] }],
  ['nice', { values: ['-n', '--adjustment'] }],
  ['su', { values: ['-s', '--shell'], operands: 1 }],
  ['sudo', { values: ['-u', '--user', '-g', '--group', '-h', '-p', '-C', '-D', '-T'] }],
  ['time', { values: ['-f', '--format', '-o', '--output'] }],
  ['timeout', { values: ['-k', '--kill-after', '-s', '--signal'], operands: 1 }]
])
/** `sh -c`, `bash -lc`, `flock FILE -c`, `su USER -c`: the next word is a command line. */
const TAKES_LINE = /^(?:-[a-z]*c|--command)$/

/** Throws unless exactly one command starts a spider, or if Scrapdeck has no equivalent for that command. */
export function readCommand(line: string, project: string | null, notes: string[]): StartedSpider {
  const commands = shellCommands(line).flatMap(unwrap)
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

function unwrap(words: string[]): string[][] {
  let rest = words
  for (let first = rest[0]; first !== undefined; first = rest[0]) {
    const wrapper = WRAPPERS.get(baseName(first))
    if (wrapper === undefined && !/^[A-Za-z_]\w*=/.test(first)) break
    const length = wrapper === undefined ? 1 : lengthOf(wrapper, rest)
    const line = TAKES_LINE.test(rest[length - 1]!) ? rest[length] : undefined
    if (line !== undefined) return shellCommands(line).flatMap(unwrap)
    rest = rest.slice(length)
  }
  return [rest]
}

function lengthOf({ values = [], operands = 0 }: { values?: string[]; operands?: number }, words: string[]): number {
  let left = operands
  let length = 1
  for (let word = words[length]; word !== undefined; word = words[length]) {
    if (values.includes(word)) length += 2
    else if (word.startsWith('-') || left-- > 0) length += 1
    else break
  }
  return Math.min(length, words.length)
}

function readScheduleRequest(words: string[]): StartedSpider | null {
  const program = baseName(words[0] ?? '')
  const [address, another] = words.filter((word) => /\/schedule\.json(\?|$)/.test(word))
  if (address === undefined || !['curl', 'wget', 'http', 'https'].includes(program)) return null
  if (another !== undefined) throw new Error('it asks several nodes: write a line for each')
  const pairs: Pair[] = []
  const query = queryPairs(address.split('?')[1] ?? '')
  for (const [index, word] of words.entries()) {
    if (program.startsWith('http')) {
      // HTTPie sends `a=1` in the body and `a==1` in the query. Its options, such as --form, do not match.
      const [, name, sign, value = ''] = /^([A-Za-z_][\w-]*)(:?=@|@|==|=)(.*)$/s.exec(word) ?? []
      if (sign?.endsWith('@')) throw new Error(`${word} is a file: write its content instead`)
      if (name !== undefined) (sign === '==' ? query : pairs).push([name, value])
      continue
    }
    const [, flag, joined] =
      /^(-d|-F|--data(?:-urlencode|-raw|-binary|-ascii)?|--form|--post-data)(?:=?(.+))?$/s.exec(word) ?? []
    if (flag !== undefined) {
      const text = joined ?? words[index + 1] ?? ''
      if (text.startsWith('@')) throw new Error(`${text} is a file: write its content instead`)
      // Form and --data-urlencode values are literal pairs. Any other body is encoded and can hold several pairs.
      pairs.push(
        ...(flag === '-F' || flag === '--form' || flag.endsWith('urlencode') ? [pairOf(text)] : queryPairs(text))
      )
    }
  }
  const base = address.replace(/\/schedule\.json.*$/s, '').replace(/^(https?:\/\/)?[^/@]*@/, '$1')
  const scheme = /^https?:/.test(base) ? '' : program === 'https' ? 'https://' : 'http://'
  // A parameter in the body replaces the one in the query (scrapyd-protocol.md, 1). HTTPie reads `:6800` as a port of
  // this machine.
  const inBody = new Set(pairs.map(([name]) => name))
  const all = [...pairs, ...query.filter(([name]) => !inBody.has(name))]
  return fromPairs(all, `${scheme}${base.replace(/^:/, 'localhost:').replace(/:$/, '')}/`)
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
  if (/[*?[]/.test(found.project + found.spider)) throw new Error('it starts all spiders of a pattern: list them')
  return fromPairs([...pairs, ['project', found.project], ['spider', found.spider]], found.node)
}

/** `scrapy crawl SPIDER -a NAME=VALUE -s NAME=VALUE`, also as `python -m scrapy`. */
function readScrapyCrawl(words: string[], project: string | null): StartedSpider | null {
  const at = words.findIndex((word, index) => word === 'crawl' && baseName(words[index - 1] ?? '') === 'scrapy')
  if (at < 0) return null
  if (project === null) throw new Error('"scrapy crawl" does not say which project: name it with --project')
  const pairs: Pair[] = [['project', project]]
  const args: Pair[] = []
  for (let index = at + 1; index < words.length; index += 1) {
    const word = words[index]!
    const [, flag, joined] = /^(-a|-s|--set)=?(.+)?$/s.exec(word) ?? []
    if (flag !== undefined) {
      const text = joined ?? words[(index += 1)] ?? ''
      // If several arguments have the same name, Scrapy takes the last one.
      if (flag === '-a') args.unshift(pairOf(text))
      else pairs.push(['setting', text])
    } else if (/^(-L|--loglevel)$/.test(word)) pairs.push(['setting', `LOG_LEVEL=${words[((index += 1))] ?? ''}`])
    else if (/^(-o|-O|-t|--output|--overwrite-output|--logfile|--pidfile|--profile)/.test(word)) {
      throw new Error(`${word} is not possible in a job: use FEEDS in the project's settings`)
    } else if (!word.startsWith('-')) pairs.push(['spider', word])
  }
  return fromPairs([...pairs, ...args], null)
}

/**
 * The parameters that are not passed to the spider. Scrapdeck generates the jobid, and Scrapyd's priorities use a
 * different scale.
 */
const OWN_PARAMETERS = new Set(['project', 'spider', '_version', 'setting', 'jobid', 'priority'])

/** As in Scrapyd, only the first value of a repeated parameter counts, except for `setting`, which can be repeated. */
function fromPairs(pairs: Pair[], node: string | null): StartedSpider {
  const firsts = new Map(pairs.toReversed())
  const [project = '', spider = '', version = null] = ['project', 'spider', '_version'].map((name) => firsts.get(name))
  if (project === '' || spider === '') throw new Error('it has no project or no spider')
  if (/\u0000/.test(project + spider)) throw new Error('its project or spider comes from a shell expansion')
  const settings = pairs.filter(([name]) => name === 'setting').map(([, text]) => pairOf(text))
  const args = [...firsts].filter(([name]) => !OWN_PARAMETERS.has(name)).toReversed()
  return { project, spider, version, settings: templateMap(settings), args: templateMap(args), node }
}

const templateMap = (pairs: Pair[]): Record<string, string> =>
  Object.fromEntries(pairs.map(([name, value]) => [name, templateText(value)]))

function pairOf(text: string): Pair {
  const at = text.indexOf('=')
  if (at < 1) throw new Error(`"${text}" is not NAME=VALUE`)
  return [text.slice(0, at), text.slice(at + 1)]
}

const queryPairs = (text: string): Pair[] => (text === '' ? [] : [...new URLSearchParams(text)])
const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
