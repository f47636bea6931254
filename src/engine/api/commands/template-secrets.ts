import { SECRET_MASK, type ProjectSettings, type RunTemplate } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { secretValues, withSecrets } from '../../../shared/secret-values.ts'
import { asSealedText, type SecretBox } from '../../runtime/secret-box.ts'

type TemplateValues = Pick<RunTemplate, 'settings' | 'args' | 'secretNames'> &
  Partial<Pick<RunTemplate, 'argSets' | 'matrix'>> & { env?: Record<string, string> }

/** Replaces masked values with the values in `before`. If there is no earlier value, the mask stays. */
export function fillMasked<T extends TemplateValues>(template: T, before: TemplateValues | undefined): T {
  const known = valuesByPlace(before)
  return withSecrets(template, (value, where) => (value === SECRET_MASK ? (known.get(where) ?? value) : value))
}

/**
 * Encrypts every secret value. A masked value keeps the encrypted value from the same position in `before`. Rejects
 * with BAD_INPUT if there is none, or if a secret name has no value.
 */
export async function sealTemplate<T extends TemplateValues>(
  template: T,
  before: TemplateValues | null,
  secretBox: Pick<SecretBox, 'seal'>
): Promise<T> {
  const sealedBefore = valuesByPlace(before)
  const known = new Set<string>()
  const values = new Map<string, string>()
  visit(template, (value, where) => {
    known.add(nameOf(where))
    if (value !== SECRET_MASK) values.set(value, '')
    else if (!sealedBefore.has(where)) {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.secret_value_of_template_is_mask', { where: nameOf(where) }))
    }
  })
  checkSecretNames(template.secretNames, (name) => known.has(name))
  for (const value of values.keys()) values.set(value, await secretBox.seal(value))
  return withSecrets(template, (value, where) =>
    value === SECRET_MASK ? sealedBefore.get(where)! : values.get(value)!
  )
}

/** Throws BAD_INPUT for a secret name without a value. */
export function checkSecretNames(names: readonly string[], isGiven: (name: string) => boolean): void {
  const stranger = names.find((name) => !isGiven(name))
  if (stranger === undefined) return
  throw new ScrapdeckError('BAD_INPUT', sentence('api.secret_name_unknown', { stranger }))
}

/** Decrypts the secrets. Rejects if they were encrypted with a different key. */
export async function openTemplate<T extends TemplateValues>(
  template: T,
  secretBox: Pick<SecretBox, 'open'>
): Promise<T> {
  const opened = new Map<string, string>()
  for (const value of secretValues(template)) opened.set(value, await secretBox.open(asSealedText(value)))
  return withSecrets(template, (value) => opened.get(value)!)
}

/** Encrypts every secret of the defaults. Rejects like sealTemplate. */
export async function sealDefaults(
  settings: ProjectSettings,
  before: ProjectSettings,
  secretBox: Pick<SecretBox, 'seal'>
): Promise<ProjectSettings> {
  const spiderDefaults: ProjectSettings['spiderDefaults'] = {}
  for (const [spider, defaults] of Object.entries(settings.spiderDefaults)) {
    spiderDefaults[spider] = await sealTemplate(defaults, before.spiderDefaults[spider] ?? null, secretBox)
  }
  return { ...settings, spiderDefaults, defaults: await sealTemplate(settings.defaults, before.defaults, secretBox) }
}

function valuesByPlace(template: TemplateValues | null | undefined): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  if (template != null) visit(template, (value, where) => values.set(where, value))
  return values
}

function visit(template: TemplateValues, see: (value: string, where: string) => void): void {
  withSecrets(template, (value, where) => {
    see(value, where)
    return value
  })
}

const nameOf = (where: string): string => where.slice(where.indexOf(':') + 1)
