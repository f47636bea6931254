/**
 * The recorded surface that external programs rely on. Record an intended change with `vitest run --project unit
 * e2e/surface --update`.
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { FleetForm } from '../../src/engine/api/fleet-file/form.ts'
import { describeApi } from '../../src/server/openapi/describe.ts'
import { linesOfSchema, type Schema } from './schema-lines.ts'

interface Described {
  content?: Record<string, { schema: Schema }>
}
interface Operation {
  operationId?: string
  parameters?: { $ref?: string; name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: Described
  responses: Record<string, Described>
}

const text = (lines: string[]) => `${lines.join('\n')}\n`

it('the REST API has the recorded operations, parameters and fields', async () => {
  const { paths = {}, components } = await describeApi()
  const lines: string[] = []
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods as Record<string, Operation>))
      lines.push(
        `${method.toUpperCase()} ${path} ${operation.operationId ?? ''}`.trimEnd(),
        ...linesOfOperation(operation)
      )
  for (const [name, schema] of Object.entries(components?.schemas ?? {}))
    lines.push(name, ...linesOfSchema(schema as Schema).map((line) => `  ${line}`))
  await expect(text(lines)).toMatchFileSnapshot('api.txt')
})

function linesOfOperation({ parameters = [], requestBody, responses }: Operation): string[] {
  const bodies = ({ content = {} }: Described, sign: string) =>
    Object.entries(content).flatMap(([media, { schema }]) =>
      linesOfSchema(schema).map((line) => `  ${sign} ${media === 'application/json' ? '' : `${media} `}${line}`)
    )
  return [
    ...parameters.flatMap((one) =>
      one.$ref !== undefined
        ? [`  ${one.$ref}`]
        : linesOfSchema(one.schema, `${one.name}${one.required === true ? '' : '?'}`).map(
            (line) => `  ${one.in} ${line}`
          )
    ),
    ...bodies(requestBody ?? {}, '>'),
    ...Object.entries(responses).flatMap(([status, response]) => [`  ${status}`, ...bodies(response, '<')])
  ]
}

it('the fleet file has the recorded fields', async () => {
  const schema = z.toJSONSchema(FleetForm, { io: 'input', unrepresentable: 'any' }) as Schema
  const definitions = Object.entries((schema['$defs'] ?? {}) as Record<string, Schema>)
  const lines = definitions.flatMap(([name, part]) => [name, ...linesOfSchema(part).map((line) => `  ${line}`)])
  await expect(text([...linesOfSchema(schema), ...lines])).toMatchFileSnapshot('fleet-file.txt')
})

it('the command line has the recorded commands and options', async () => {
  const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
  const script = execFileSync(process.execPath, [bin, 'completion', 'bash'], { encoding: 'utf8' })
  const places = script.matchAll(/^ +'(.*)'\) commands='(.*)' options='(.*)' ;;$/gm)
  const lines = [...places].map(([, path, commands, options]) =>
    `scrapdeck ${path}: ${commands} ${options}`.replace(/ +/g, ' ')
  )
  await expect(text(lines)).toMatchFileSnapshot('cli.txt')
})
