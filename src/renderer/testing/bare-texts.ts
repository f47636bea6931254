import { z } from 'zod'
import { contract } from '../../shared/contract/index.ts'
import { shortId } from '../../shared/ids.ts'

/** Words that stay in every language. */
const STAYS = new Set(
  [
    // Names of products, protocols, formats and files, and `v` before a version.
    'Scrapdeck Scrapy Scrapyd Python PagerDuty macOS curl scrapy.cfg JSON CSV TLS STARTTLS SRV AAAA SHA UTC kubernetes',
    // Levels of Python's logging, signals, and units by their international symbols.
    'DEBUG INFO WARNING ERROR CRITICAL INT KILL ms min kB MB GB',
    // Examples of what users type: addresses, cron, a code of a sign-in.
    'WDJB-MJHT https deploy base',
    'ssh ops@bastion http scrapyd.crawl.svc.cluster.local scrapdeck localhost'
  ].flatMap((words) => words.split(' '))
)

/** Fields with sentences that users, spiders or other programs wrote. */
const WRITTEN_BY_OTHERS =
  /\.(?:name|nodeName|ruleName|comment|description|pauseNote|title|culprit|killingLine|crawl|expression|userAgent|reason|finish_reason|why|answer|conversation|output|message)$|^cells\.text$|^(?:value|printed)\.text$|^channels\.problem$|^params\./

/** Sentences of the engine that have no code yet. The last is in examples of the API, which have no codes. */
const WITHOUT_CODE =
  /^(?:sources|webhooks)\.problem$|^secrets\.text$|^terms\.reason$|^deployments\.error$|^acknowledged\.by$|^(?:unusual|alerts)\.text$/

/** The message of a failing test. */
export const BARE_TEXTS_HINT =
  'Texts without a translation, by screen. Take them from shared/texts. If users write them, name their field in WRITTEN_BY_OTHERS (testing/bare-texts.ts)'

const SHOWN_ATTRIBUTES = ['aria-label', 'aria-description', 'aria-valuetext', 'title', 'placeholder', 'alt']

/** Texts on the page with words that are neither in ⟦ ⟧ nor data of the engine nor the same in every language. */
export const bareTexts = (page: HTMLElement, data: Data): string[] =>
  shownTexts(page).filter((text) => isBare(text, data))

function shownTexts(page: HTMLElement): string[] {
  const texts: string[] = []
  const walker = document.createTreeWalker(page, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) =>
    node instanceof Element && node.matches(UNREAD) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT
  )
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (node instanceof Element) {
      for (const name of SHOWN_ATTRIBUTES) texts.push(node.getAttribute(name) ?? '')
      // A choice shows its label as a value.
      if (node instanceof HTMLInputElement && node.getAttribute('aria-haspopup') === 'listbox') texts.push(node.value)
    } else texts.push(node.textContent!)
  }
  return texts
}

/** Lines of logs, commands and files to copy, and what Mantine measures with. */
const UNREAD = 'style, script, pre, .xterm-rows, .xterm-accessibility, textarea[aria-hidden=true]'
const BETWEEN_WORDS = /[\s\d,;:()“”"'’·…/=<>|{}[\]?&*!+–-]+/

const isBare = (text: string, data: Data): boolean => {
  const rest = withoutWrapped(text)
  return hasBareWord(rest, data) && hasBareWord(data.without(rest), data)
}

const hasBareWord = (text: string, data: Data): boolean =>
  text.split(/[\s,;:()“”"·…/]+/).some((word) => /[A-Za-z]{2}/.test(word) && !isKept(word, data))

const isKept = (word: string, data: Data): boolean =>
  [word, word.replace(/[._]$/, '')].some((one) => STAYS.has(one) || data.hasWord(one)) ||
  /^(.)\1+$/.test(word) ||
  /example\.net$/.test(word) ||
  // Names of events and operations.
  /^[a-z]+\.[a-z]+$/.test(word) ||
  word.split(BETWEEN_WORDS).every((part) => part.length < 2 || STAYS.has(part) || data.hasWord(part))

/** A text that the UI cuts into several nodes has only one of its brackets in a node. */
const withoutWrapped = (text: string): string =>
  text
    .replaceAll(/⟦[^⟦⟧]*⟧/g, ' ')
    // A wrapped text can be the parameter of a message.
    .replaceAll(/⟦[^⟦⟧]*⟧/g, ' ')
    .replaceAll(/^[^⟦⟧]*⟧|⟦[^⟦⟧]*$/g, ' ')

export type Data = ReturnType<typeof createData>

/** Collects what the engine sent that is no text of ours: names, ids, lines of logs. */
export function createData() {
  const words = new Set<string>(
    Intl.supportedValuesOf('timeZone').flatMap((zone) => [zone, ...zone.split('/'), ...zone.split(/[/_]/)])
  )
  const sentences = new Set<string>()
  const fixed = fixedValues()
  let longestFirst: string[] = []

  function read(value: unknown, at = '') {
    if (typeof value === 'string') add(value, at)
    else if (Array.isArray(value)) for (const one of value) read(one, at)
    else if (typeof value === 'object' && value !== null)
      for (const [name, field] of Object.entries(value)) {
        if (/\.(?:evidence|stats|args|settings|env|planned|projects)$/.test(at)) addName(name)
        if (!isMessage(name, value)) read(field, `${at.split('.').at(-1)}.${name}`)
      }
  }
  function add(value: string, at: string) {
    if (value.startsWith('{')) return addJson(value)
    // Screens have words for the values that the contract lists, such as `queued`.
    if (
      fixed.has(value) &&
      !/\.(?:name|id|project|spider|role|tags|nodeTags|reason|finish_reason|operation|noun|origin|action)$|^projects\./.test(
        at
      )
    )
      return
    if (!/\s/.test(value)) addName(value)
    else if (WRITTEN_BY_OTHERS.test(at) || WITHOUT_CODE.test(at))
      for (const line of value.split('\n')) if (/\S/.test(line)) sentences.add(line)
  }
  /** Ids are shown short, and names in parts. The names of evidence and of Scrapy's stats are shown as words. */
  function addName(value: string) {
    words.add(value)
    if (/^[0-9a-f]{32}$/.test(value)) for (const part of [value.slice(0, 8), shortId(value)]) words.add(part)
    for (const word of value.split(BETWEEN_WORDS)) words.add(word)
    for (const word of value.replace(/([a-z])([A-Z])/g, '$1 $2').split(/[\s_]/)) words.add(word.toLowerCase())
  }
  function addJson(value: string) {
    try {
      read(JSON.parse(value), '.args')
    } catch {
      addName(value)
    }
  }
  return {
    read,
    hasWord: (word: string) => words.has(word),
    /** The longest sentences first, because one can be a part of another. */
    without(text: string): string {
      if (longestFirst.length !== sentences.size)
        longestFirst = [...sentences].sort((left, right) => right.length - left.length)
      return longestFirst.reduce((rest, one) => (rest.includes(one) ? rest.replaceAll(one, ' ') : rest), text)
    }
  }
}

const isMessage = (name: string, of: object) =>
  ((name === 'text' || name === 'words') && 'code' in of) || `${name}Code` in of

function fixedValues(): Set<string> {
  const found = new Set<string>()
  const find = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    const { enum: listed, const: only } = value as { enum?: unknown; const?: unknown }
    for (const one of [listed, only].flat()) if (typeof one === 'string') found.add(one)
    for (const one of Object.values(value)) find(one)
  }
  const visit = (node: object) => {
    if (!('~orpc' in node)) return Object.values(node).forEach((one) => visit(one as object))
    const { outputSchema, meta } = node['~orpc'] as { outputSchema?: z.ZodType; meta: object }
    if (outputSchema instanceof z.ZodType && meta) find(z.toJSONSchema(outputSchema, { unrepresentable: 'any' }))
  }
  visit(contract)
  return found
}
