import type { OptionReader } from './option-reader.ts'
import { findOption, type Meaning, type OptionRow, OPTIONS } from './option-table.ts'
import { distanceWithin, suggestNear } from '../shared/near-matches.ts'
import type { ConfiguredValue } from './read-files.ts'

const SECTIONS_OF_SCRAPYD = ['scrapyd', 'cache', 'metrics']
const KNOWN_SECTIONS = [...SECTIONS_OF_SCRAPYD, 'services', 'settings', 'scrapdeck', 'DEFAULT']

/**
 * Checks the options that no reader handles: options without effect, Python classes that Scrapdeck replaces, and
 * unknown names.
 */
export function checkOtherOptions(options: OptionReader): void {
  const byReason = new Map<string, Parameters<OptionReader['warnUseless']>[0]>()
  for (const row of OPTIONS) {
    const { section, name, meaning } = row
    if (meaning.kind === 'honoured') continue
    const picked = options.pick(section, name)
    // Sections that exist only in some Scrapyd versions are listed only if they are used.
    if (picked === null && section !== 'scrapyd') continue
    if (meaning.kind === 'class') checkClass(options, row, meaning, picked)
    else {
      options.list(section, name, `${picked?.text ?? ''} (without effect: ${meaning.why})`.trim(), picked)
      if (picked === null || meaning.kind !== 'noted') continue
      byReason.set(meaning.why, [...(byReason.get(meaning.why) ?? []), { section, name, picked }])
    }
  }
  for (const [why, unused] of byReason) options.warnUseless(unused, why)
  warnOfUnknown(options)
  warnOfVariables(options)
}

const OTHER_VARIABLES = /^SCRAPDECK_(URL|NODE_PASSWORD|MAIN_BUNDLE|DOCS_IMAGES|SCREENS|PROPERTY_RUNS|PROPERTY_SEED)$/

/**
 * Warns about variables that have our prefix but set nothing. For Scrapyd's prefix, warns only about likely typos,
 * because other programs use that prefix too.
 */
function warnOfVariables(options: OptionReader): void {
  const known = OPTIONS.flatMap(({ variables }) => variables)
  for (const name of Object.keys(options.context.environment)) {
    if (!/^SCRAP(DECK|YD)_[A-Z0-9_]{1,100}$/.test(name) || known.includes(name) || OTHER_VARIABLES.test(name)) continue
    const isOurs = name.startsWith('SCRAPDECK_')
    if (!isOurs && !known.some((one) => distanceWithin(name, one, 2) !== null)) continue
    options.warn(`${name} is not a variable of Scrapdeck; it has no effect.${suggestNear(name, known)}`)
  }
}

function checkClass(
  options: OptionReader,
  { section, name }: OptionRow,
  { standard, known, serves, why }: Extract<Meaning, { kind: 'class' }>,
  picked: ConfiguredValue | null
): void {
  options.list(section, name, picked?.text ?? standard[0]!, picked)
  if (picked === null || standard.includes(picked.text)) return
  if (known.test(picked.text)) options.warn(`${picked.from}: ${name} = ${picked.text} is not loaded: ${serves}.`)
  else options.refuse(picked, `${name} = ${picked.text} is not ${standard.join(' or ')}: ${why}`)
}

function warnOfUnknown(options: OptionReader): void {
  const { configuration } = options.context
  for (const section of SECTIONS_OF_SCRAPYD) {
    for (const name of configuration.keys(section).filter((key) => findOption(section, key) === undefined)) {
      const what = section === 'scrapyd' ? 'Scrapyd' : `[${section}]`
      options.warn(`${configuration.get(section, name)?.from}: ${what} has no option "${name}"; it has no effect.`)
    }
  }
  for (const { name, file } of configuration.sections.filter((one) => !KNOWN_SECTIONS.includes(one.name))) {
    options.warn(`${file}: the section [${name}] is not a section of Scrapyd; it has no effect.`)
  }
}
