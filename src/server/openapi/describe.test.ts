import type { AnyContractProcedure } from '@orpc/contract'
import { getEventIteratorSchemaDetails, isContractProcedure } from '@orpc/contract'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { contract } from '../../shared/contract/index.ts'
import { describeApi } from './describe.ts'
import { exampleOf } from '../../shared/examples/operations.ts'
import { isCore } from '../../../scripts/test-length.mjs'

const procedures = Object.entries(contract).flatMap(([noun, verbs]): [string, AnyContractProcedure][] =>
  isContractProcedure(verbs)
    ? [[noun, verbs]]
    : Object.entries(verbs).map(([verb, procedure]) => [`${noun}.${verb}`, procedure])
)

describe('the examples', () => {
  it.each(procedures)('of %s match its input and output schemas', (operationId, procedure) => {
    const example = exampleOf(operationId)!
    const { inputSchema, outputSchema } = procedure['~orpc']
    const taken = (inputSchema as z.ZodType | undefined)?.safeParse(example.input)
    expect(taken?.error).toBeUndefined()
    const answer = (getEventIteratorSchemaDetails(outputSchema)?.yields ?? outputSchema) as z.ZodType
    // Compare the whole output, because an example must not show what the schema would strip.
    expect(answer.parse(example.output)).toEqual(example.output)
  })
})

describe('the OpenAPI document', () => {
  it('has an example for every request, response and required parameter', async () => {
    const { paths } = await describeApi()
    const without: string[] = []
    for (const [path, methods] of Object.entries(paths!)) {
      for (const [method, operation] of Object.entries(methods as Record<string, Operation>)) {
        const name = `${method} ${path}`
        if (!operation.summary) without.push(`${name} summary`)
        for (const media of Object.values(operation.requestBody?.content ?? {}))
          if (!('example' in media)) without.push(`${name} body`)
        for (const [status, { content = {} }] of Object.entries(operation.responses))
          for (const media of Object.values(content)) if (!('example' in media)) without.push(`${name} ${status}`)
        for (const parameter of operation.parameters ?? [])
          if (parameter.required && !('example' in parameter)) without.push(`${name} ${parameter.name}`)
      }
    }
    expect(without).toEqual([])
  })

  it('forbids additional properties in every object of a request without free-form names', async () => {
    const { paths, components } = await describeApi()
    const open: string[] = []
    const visit = (where: string, schema: Schema): void => {
      if (schema.$ref !== undefined) visit(where, components!.schemas![schema.$ref.split('/').at(-1)!] as Schema)
      if (schema.properties !== undefined && schema.additionalProperties !== false) open.push(where)
      for (const [name, part] of Object.entries(schema.properties ?? {})) visit(`${where}.${name}`, part)
      for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(where, part)
      if (schema.items !== undefined) visit(`${where}.0`, schema.items)
    }
    const bodies = Object.entries(paths!).flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>).flatMap(([method, { requestBody }]) =>
        Object.values(requestBody?.content ?? {}).map(({ schema }) => [`${method} ${path}`, schema as Schema] as const)
      )
    )
    expect(bodies.length).toBeGreaterThan(30)
    for (const [where, schema] of bodies) visit(where, schema)
    expect(open).toEqual([])
  })

  it.skipIf(isCore)('has examples that its own schemas accept according to an independent validator', async () => {
    const document = await describeApi()
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ ...document, $id: 'api' } as object)
    const wrong: string[] = []
    const check = (where: string, media: Media) => {
      const { example } = media
      const isJson = typeof example !== 'string'
      if (isJson && !ajv.validate(absolute(media.schema) as object, example))
        wrong.push(`${where}: ${ajv.errorsText()}`)
    }
    for (const [path, methods] of Object.entries(document.paths!)) {
      for (const [method, operation] of Object.entries(methods as Record<string, Operation>)) {
        const body = operation.requestBody?.content['application/json']
        if (body !== undefined) check(`${method} ${path}`, body)
        for (const [status, { content = {} }] of Object.entries(operation.responses))
          for (const media of Object.values(content)) check(`${method} ${path} ${status}`, media)
      }
    }
    expect(wrong).toEqual([])
  })
})

interface Schema {
  $ref?: string
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: unknown
}
interface Media {
  schema: unknown
  example?: unknown
}
interface Operation {
  summary?: string
  parameters?: { name: string; required?: boolean }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { content?: Record<string, Media> }>
}

/** Makes the references in a part of the document absolute, so that the part can be validated alone. */
function absolute(schema: unknown): unknown {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'))
}
