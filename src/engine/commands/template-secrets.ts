import { SECRET_MASK, type RunTemplate } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { asSealedText, type SecretBox } from '../runtime/secret-box.ts'

/** Where values of a template stand, whatever else it says. */
type TemplateValues = Pick<RunTemplate, 'settings' | 'args' | 'argSets' | 'matrix' | 'secretNames'>

/** What replaces the value of a secret name; `where` is the same for the same place in two versions of a template. */
type Replace = (value: string, where: string) => string

/** The same with SECRET_MASK in the place of every secret value: for answers. */
export function maskTemplate<T extends TemplateValues>(template: T): T {
  return withValues(template, () => SECRET_MASK)
}

/** The same with the values of `before` where the mask came back; where there is none the mask stays. */
export function fillMasked<T extends TemplateValues>(template: T, before: TemplateValues | undefined): T {
  const known = valuesByPlace(before)
  return withValues(template, (value, where) => (value === SECRET_MASK ? (known.get(where) ?? value) : value))
}

/**
 * For the store: every secret value sealed. Where the mask came back, from a form or a file, the sealed value of the
 * same place in `before` stays. Rejects with BAD_INPUT where there is none, or a secret name has no value.
 */
export async function sealTemplate(
  template: RunTemplate,
  before: RunTemplate | null,
  secretBox: Pick<SecretBox, 'seal'>
): Promise<RunTemplate> {
  const sealedBefore = valuesByPlace(before)
  const known = new Set<string>()
  const values = new Map<string, string>()
  visit(template, (value, where) => {
    known.add(nameOf(where))
    if (value !== SECRET_MASK) values.set(value, '')
    else if (!sealedBefore.has(where)) {
      throw new ScrapdeckError(
        'BAD_INPUT',
        `The secret value of "${nameOf(where)}" consists only of the dots that are shown in its place. Enter the real value`
      )
    }
  })
  checkSecretNames(template.secretNames, (name) => known.has(name))
  for (const value of values.keys()) values.set(value, await secretBox.seal(value))
  return withValues(template, (value, where) => (value === SECRET_MASK ? sealedBefore.get(where)! : values.get(value)!))
}

/** Each secret name is that of a setting or an argument. Throws BAD_INPUT. */
export function checkSecretNames(names: readonly string[], isGiven: (name: string) => boolean): void {
  const stranger = names.find((name) => !isGiven(name))
  if (stranger === undefined) return
  throw new ScrapdeckError(
    'BAD_INPUT',
    `"${stranger}" is marked secret, but no setting or argument has this name. Correct it, or remove it from secretNames`
  )
}

/** As it was given, for the making of jobs. Rejects where the secrets were sealed elsewhere. */
export async function openTemplate(template: RunTemplate, secretBox: Pick<SecretBox, 'open'>): Promise<RunTemplate> {
  if (template.secretNames.length === 0) return template
  const opened = new Map<string, string>()
  visit(template, (value) => opened.set(value, ''))
  for (const value of opened.keys()) opened.set(value, await secretBox.open(asSealedText(value)))
  return withValues(template, (value) => opened.get(value)!)
}

function valuesByPlace(template: TemplateValues | null | undefined): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  if (template != null) visit(template, (value, where) => values.set(where, value))
  return values
}

function visit(template: TemplateValues, see: (value: string, where: string) => void): void {
  withValues(template, (value, where) => {
    see(value, where)
    return value
  })
}

function withValues<T extends TemplateValues>(template: T, replace: Replace): T {
  const secret = new Set(template.secretNames)
  if (secret.size === 0) return template
  const ofRecord = (record: Record<string, string>, place: string) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        secret.has(name) ? replace(value, `${place}:${name}`) : value
      ])
    )
  return {
    ...template,
    settings: ofRecord(template.settings, 'settings'),
    args: ofRecord(template.args, 'args'),
    argSets: template.argSets.map((set, index) => ofRecord(set, `argSets ${index}`)),
    matrix: Object.fromEntries(
      Object.entries(template.matrix).map(([name, values]) => [
        name,
        secret.has(name) ? values.map((value, index) => replace(value, `matrix ${index}:${name}`)) : values
      ])
    )
  }
}

const nameOf = (where: string): string => where.slice(where.indexOf(':') + 1)
