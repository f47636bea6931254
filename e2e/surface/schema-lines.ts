export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema | false
  prefixItems?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  default?: unknown
  [limit: string]: unknown
}

const LIMITS = ['format', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum', 'minItems', 'maxItems', 'default']

/** One line per value that a schema describes: `.jobs[].id: string, maxLength 32`. `?` marks optional ones. */
export function linesOfSchema(schema: Schema, path = ''): string[] {
  if (schema.$ref !== undefined) return [`${path}: ${schema.$ref.split('/').at(-1)}`]
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
  if (choices !== undefined) {
    const simple = choices.map((choice) => linesOfSchema(choice, ''))
    if (simple.every((lines) => lines.length === 1 && lines[0]!.startsWith(': ')))
      return [`${path}: ${simple.map(([line]) => line!.slice(2)).join(' | ')}${limitsOf(schema)}`]
    return choices.flatMap((choice, index) => linesOfSchema(choice, `${path}<${index + 1}>`))
  }
  const lines: string[] = []
  for (const [name, part] of Object.entries(schema.properties ?? {}))
    lines.push(...linesOfSchema(part, `${path}.${name}${schema.required?.includes(name) === true ? '' : '?'}`))
  if (typeof schema.additionalProperties === 'object')
    lines.push(...linesOfSchema(schema.additionalProperties, `${path}.*`))
  for (const [index, part] of (schema.prefixItems ?? []).entries())
    lines.push(...linesOfSchema(part, `${path}[${index}]`))
  if (typeof schema.items === 'object') lines.push(...linesOfSchema(schema.items, `${path}[]`))
  const own = `${typeOf(schema)}${limitsOf(schema)}`
  return lines.length === 0 ? [`${path}: ${own}`] : own.includes(',') ? [`${path}: ${own}`, ...lines] : lines
}

function typeOf(schema: Schema): string {
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  return [schema.type ?? 'anything'].flat().join(' | ')
}

function limitsOf(schema: Schema): string {
  return LIMITS.filter((name) => name in schema)
    .map((name) => `, ${name} ${JSON.stringify(schema[name])}`)
    .join('')
}
