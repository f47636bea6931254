import type { OptionReader } from './option-reader.ts'
import { findOption, type Meaning, type OptionRow, OPTIONS } from './option-table.ts'
import type { ConfiguredValue } from './read-files.ts'

const SECTIONS_OF_SCRAPYD = ['scrapyd', 'cache', 'metrics']
const KNOWN_SECTIONS = [...SECTIONS_OF_SCRAPYD, 'services', 'settings', 'scrapdeck', 'DEFAULT']

/** What no reader takes: options that are only explained, classes that Scrapdeck replaces, unknown names. */
export function checkOtherOptions(options: OptionReader): void {
  for (const row of OPTIONS) {
    const { section, name, meaning } = row
    if (meaning.kind === 'honoured') continue
    const picked = options.pick(section, name)
    // Sections that only some Scrapyds have are shown if they are used.
    if (picked === null && section !== 'scrapyd') continue
    if (meaning.kind === 'class') checkClass(options, row, meaning, picked)
    else {
      options.list(section, name, `${picked?.text ?? ''} (without effect: ${meaning.why})`.trim(), picked)
      const isTold = meaning.kind === 'noted' && meaning.except?.includes(picked?.text.toLowerCase() ?? '') !== true
      if (picked !== null && isTold) {
        const where = picked.from === name ? name : `${picked.from}: ${name}`
        options.warn(`${where} has no effect: ${meaning.why}.`)
      }
    }
  }
  warnOfUnknown(options)
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
