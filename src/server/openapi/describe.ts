import type { OpenAPI } from '@orpc/contract'
import { OpenAPIGenerator } from '@orpc/openapi'
import { ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import * as shapes from '../../shared/contract/index.ts'
import { ERROR_CODES } from '../../shared/errors.ts'
import { JOB_ID, NOON_MS, SCHEDULE_ID } from '../../shared/examples/things.ts'
import { type Example, exampleOf } from '../../shared/examples/operations.ts'
import { ALSO_AT_ROOT, BOTH_SERVERS, schedulerPaths } from './scheduler-paths.ts'

type Operation = OpenAPI.OperationObject
type Content = Record<string, OpenAPI.MediaTypeObject>

const JSON_TYPE = 'application/json'
const STREAM_TYPE = 'text/event-stream'

const { contract } = shapes
const OPERATIONS = shapes.listOperations(contract)

/** Response schemas to name once in the document. Inputs with defaults have different schemas, which stay inline. */
const COMMON = [
  ...(['Attempt', 'Backfill', 'Chain', 'Delivery', 'Environment', 'ErrorGroup', 'Figures'] as const),
  ...([
    'Firing',
    'Job',
    'Node',
    'Problem',
    'Project',
    'RunTemplate',
    'Schedule',
    'SourceState',
    'Version',
    'Webhook'
  ] as const)
]

const ABOUT = `Everything that Scrapdeck's own interface does, for programs.

Use Basic authentication (\`npm run scrapdeck -- credentials\`), or be logged in. Errors are \`{code, status, message, data}\`; [every code](/docs/errors) is
explained. Lists go by keyset: give back what \`nextBefore\` or \`nextAfter\` said. \`fields\` takes parts of an answer. An \`Idempotency-Key\` makes
a write safe to repeat. Names that an operation does not know, in its query or its body, are refused. The same operations are [JSON-RPC 2.0](/docs/api#json-rpc) at \`/api/v1/jsonrpc\`. More: [the guide](/docs/api).`

/** Describes the contract and the API's other paths in OpenAPI 3.1, with an example per operation. */
export async function describeApi(): Promise<OpenAPI.Document> {
  const generator = new OpenAPIGenerator({ schemaConverters: [new ZodToJsonSchemaConverter()] })
  const document = await generator.generate(contract, {
    info: { title: 'Scrapdeck', version: '1', description: ABOUT },
    servers: [{ url: '/api/v1' }],
    security: [{ basic: [] }, { token: [] }],
    tags: Object.keys(contract).map((name) => ({ name })),
    commonSchemas: Object.fromEntries(
      COMMON.map((name) => [name, { schema: shapes[name], strategy: 'output' as const }])
    )
  })
  const components = (document.components ??= {})
  components.schemas = { ...components.schemas, Error: ERROR_SCHEMA }
  const named = components.schemas as Record<string, Closable>
  components.securitySchemes = { basic: { type: 'http', scheme: 'basic' }, token: { type: 'http', scheme: 'bearer' } }
  components.parameters = { Fields: FIELDS, IdempotencyKey: IDEMPOTENCY_KEY }
  for (const methods of Object.values(document.paths ?? {})) {
    for (const operation of Object.values(methods ?? {})) {
      complete(operation as Operation)
      const { content = {} } = ((operation as Operation).requestBody ?? {}) as Partial<OpenAPI.RequestBodyObject>
      for (const media of Object.values(content)) if (media.schema !== undefined) close(media.schema as Closable, named)
    }
  }
  const ours = {
    '/jobs/{id}/logs': { get: LOG_STREAM },
    '/jobs/{id}/items/export': { get: ITEMS_EXPORT },
    '/logs/zip': { post: LOG_ZIP },
    '/schedules/{id}/logs': { get: LOG_STREAM_OF_SCHEDULE },
    '/jsonrpc': { post: JSON_RPC },
    ...schedulerPaths(LOG_STREAM, ERROR_RESPONSE)
  }
  for (const path of ALSO_AT_ROOT)
    for (const operation of Object.values(document.paths![path]!)) (operation as Operation).servers = BOTH_SERVERS
  document.paths = { ...document.paths, ...(ours as NonNullable<typeof document.paths>) }
  return document
}

interface Closable {
  $ref?: string
  anyOf?: Closable[]
  oneOf?: Closable[]
  items?: Closable
  properties?: Record<string, Closable>
  additionalProperties?: Closable | boolean
}

/**
 * Forbids unknown properties, as the API does (api/unknown-parts.ts). The contract's schemas allow them, because they
 * also parse stored data.
 */
function close(schema: Closable, named: Record<string, Closable>): void {
  const { $ref, anyOf = [], oneOf = [], items, properties, additionalProperties: more } = schema
  if (properties !== undefined && more === undefined) schema.additionalProperties = false
  const below = [...anyOf, ...oneOf, ...Object.values(properties ?? {})]
  if ($ref !== undefined) below.push(named[$ref.split('/').at(-1)!]!)
  if (items !== undefined) below.push(items)
  if (typeof more === 'object') below.push(more)
  for (const part of below) close(part, named)
}

function complete(operation: Operation): void {
  const { operationId = '' } = operation
  const example = exampleOf(operationId)
  if (example === undefined) throw new Error(`${operationId} has no example`)
  operation.summary = example.summary
  operation.tags = [operationId.split('.')[0]!]
  const input = (example.input ?? {}) as Record<string, unknown>
  const parameters = (operation.parameters ?? []) as OpenAPI.ParameterObject[]
  for (const parameter of parameters) {
    if (Object.hasOwn(input, parameter.name)) parameter.example = input[parameter.name]
  }
  const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  const body = Object.fromEntries(Object.entries(input).filter(([name]) => !inPath.includes(name)))
  const { requestBody } = operation as { requestBody?: OpenAPI.RequestBodyObject }
  // Files are uploaded as forms. Only the UI sends them in another way.
  if (requestBody?.content['multipart/form-data'] !== undefined) delete requestBody.content[JSON_TYPE]
  for (const [type, media] of Object.entries((requestBody?.content ?? {}) as Content)) {
    media.example = type === JSON_TYPE ? body : { ...body, file: '(the bytes of the file)' }
  }
  const isStream = addAnswers(operation, example)
  if (!isStream) parameters.push({ $ref: '#/components/parameters/Fields' } as never)
  const { meta } = OPERATIONS.get(operationId)!['~orpc']
  for (const name of meta.alsoInQuery ?? [])
    parameters.push({ name, in: 'query', schema: { type: 'boolean' }, description: ALSO_IN_QUERY })
  if (meta.takesKey) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' } as never)
  operation.parameters = parameters
}

function addAnswers(operation: Operation, { output }: Example): boolean {
  const responses = (operation.responses ?? {}) as Record<string, OpenAPI.ResponseObject>
  let isStream = false
  for (const [status, response] of Object.entries(responses)) {
    const content = (response.content ?? {}) as Content
    const isDetailed = Object.keys(responses).length > 1
    response.description = STATUS_WORDS[status] ?? 'Done'
    if (content[JSON_TYPE] !== undefined) content[JSON_TYPE].example = isDetailed ? DETAILED[status] : output
    if (content[STREAM_TYPE] !== undefined) {
      content[STREAM_TYPE].example = `event: message\ndata: ${JSON.stringify(output)}\n\n`
      isStream = true
    }
  }
  operation.responses = { ...responses, default: ERROR_RESPONSE }
  return isStream
}

const STATUS_WORDS: Record<string, string> = { 202: 'It will run later' }

/** The two kinds of responses of the crawl operation: for a crawl that starts now, and for a later crawl. */
const DETAILED: Record<string, unknown> = {
  200: {
    job_id: JOB_ID,
    scheduled: false,
    cached: true,
    cached_at: new Date(NOON_MS).toISOString(),
    logs_url: `/api/v1/jobs/${JOB_ID}/logs`
  },
  202: {
    job_id: JOB_ID,
    schedule_id: null,
    scheduled: true,
    next_run: new Date(NOON_MS + 3_600_000).toISOString(),
    cached: false,
    cached_at: null,
    logs_url: `/api/v1/jobs/${JOB_ID}/logs`
  }
}

const ERROR_SCHEMA: OpenAPI.SchemaObject = {
  type: 'object',
  properties: {
    defined: { type: 'boolean' },
    code: { type: 'string', enum: Object.keys(ERROR_CODES) },
    status: { type: 'integer' },
    message: { type: 'string', description: 'What happened, to what, and what to do next' },
    data: { type: 'object', description: 'Details for programs' }
  },
  required: ['code', 'status', 'message']
}

const ERROR_RESPONSE: OpenAPI.ResponseObject = {
  description: 'Nothing was done; the code says why',
  content: {
    [JSON_TYPE]: {
      schema: { $ref: '#/components/schemas/Error' },
      example: {
        defined: false,
        code: 'JOB_NOT_FOUND',
        status: 404,
        message: `There is no job ${JOB_ID}; it may have been deleted`,
        data: {}
      }
    }
  }
}

const FIELDS: OpenAPI.ParameterObject = {
  name: 'fields',
  in: 'query',
  description:
    'Return only these parts: names separated by dots and commas, through lists: `jobs.id,jobs.status,nextBefore`. Unknown names are rejected.',
  // Swagger UI would put an example into every request, so there is none.
  schema: { type: 'string', maxLength: 2_000 }
}

const ALSO_IN_QUERY = 'As well as in the body: it is on if either says so'

const IDEMPOTENCY_KEY: OpenAPI.ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'Makes the request safe to repeat: a repeated request with this key within a day returns the first response.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' }
}

const LOG_STREAM: Operation = {
  operationId: 'jobs.logs',
  summary: 'The log as server-sent events, line by line',
  description:
    'Events: `log` for each line, `attempt` when the job runs again, `problem` when its node stops responding, `end` with the outcome. Send the last id back as `Last-Event-ID` to resume.',
  tags: ['jobs'],
  parameters: [
    { name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9a-f]{32}$' }, example: JOB_ID },
    {
      name: 'Last-Event-ID',
      in: 'header',
      schema: { type: 'string', pattern: '^([1-9][0-9]{0,5}:[0-9]{1,15}|end)$' },
      description: 'The id of the last event that came, such as 1:4096'
    }
  ],
  responses: {
    200: {
      description: 'A stream that closes after `end`',
      content: {
        [STREAM_TYPE]: {
          schema: { type: 'string' },
          example:
            'event: log\nid: 1:62\ndata: {"time":"2026-11-02T12:00:02","level":"INFO","logger":"scrapy.core.engine","message":"Spider opened","continued":false}\n\nevent: end\nid: end\ndata: {"status":"succeeded","outcome":"succeeded","reason":"finished","pages":120,"items":118,"errors":0,"endedAtMs":1793620980000}\n\n'
        }
      }
    },
    204: { description: 'The log was read to its end before (`Last-Event-ID: end`)' },
    default: ERROR_RESPONSE
  }
}

const LOG_ZIP: Operation = {
  operationId: 'logs.zipFile',
  summary: 'The newest logs of many jobs as one zip archive',
  description:
    'PROJECT/SPIDER/JOBID.log, then INDEX.txt, which says what each file is and why a log is missing. The archive is sent while it is written.',
  tags: ['logs'],
  requestBody: {
    required: true,
    content: {
      [JSON_TYPE]: {
        schema: {
          type: 'object',
          additionalProperties: false,
          required: ['jobIds'],
          properties: {
            jobIds: {
              type: 'array',
              minItems: 1,
              maxItems: shapes.MAX_ZIPPED_LOGS,
              items: { type: 'string', pattern: '^[0-9a-f]{32}$' }
            }
          }
        },
        example: { jobIds: [JOB_ID] }
      }
    }
  },
  responses: {
    200: {
      description: 'The archive, as an attachment',
      content: { 'application/zip': { schema: { type: 'string' }, example: '(the bytes of the file)' } }
    },
    default: ERROR_RESPONSE
  }
}

const ITEMS_EXPORT: Operation = {
  operationId: 'jobs.itemsExport',
  summary: 'All items of a job as one file',
  description:
    'The file is written first, so the response begins when it is complete. `items.export` reports progress.',
  tags: ['items'],
  parameters: [
    { name: 'id', in: 'path', required: true, schema: { type: 'string', pattern: '^[0-9a-f]{32}$' }, example: JOB_ID },
    {
      name: 'format',
      in: 'query',
      schema: { type: 'string', enum: [...shapes.ItemsFormat.options], default: 'jsonl' }
    },
    { name: 'attemptNumber', in: 'query', schema: { type: 'integer', minimum: 1 }, description: 'Default: the last' }
  ],
  responses: {
    200: {
      description: 'The file, as an attachment',
      content: {
        'application/x-ndjson': { schema: { type: 'string' }, example: '{"name":"Desk lamp","price":39.90}\n' },
        [JSON_TYPE]: { schema: { type: 'array', items: {} }, example: [{ name: 'Desk lamp', price: 39.9 }] },
        'text/csv': { schema: { type: 'string' }, example: 'name,price\r\nDesk lamp,39.90\r\n' },
        'application/vnd.apache.parquet': { schema: { type: 'string' }, example: '(the bytes of the file)' }
      }
    },
    default: ERROR_RESPONSE
  }
}

const LOG_STREAM_OF_SCHEDULE: Operation = {
  ...LOG_STREAM,
  operationId: 'schedules.logs',
  summary: "The log of a schedule's newest job, or of its first once it exists, as server-sent events",
  tags: ['schedules'],
  parameters: LOG_STREAM.parameters!.map((parameter) =>
    'in' in parameter && parameter.in === 'path' ? { ...parameter, example: SCHEDULE_ID } : parameter
  )
}

const CALL_SCHEMA: OpenAPI.SchemaObject = {
  type: 'object',
  properties: {
    jsonrpc: { const: '2.0' },
    method: { type: 'string', description: 'The id of an operation of this document' },
    params: { type: 'object' },
    id: { type: ['string', 'number', 'null'] }
  },
  required: ['jsonrpc', 'method'],
  additionalProperties: false
}
const ANSWER_SCHEMA: OpenAPI.SchemaObject = {
  type: 'object',
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'number', 'null'] },
    result: {},
    error: {
      type: 'object',
      properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
      required: ['code', 'message']
    }
  },
  required: ['jsonrpc', 'id']
}

const JSON_RPC: Operation = {
  operationId: 'jsonrpc',
  summary: 'The same operations as JSON-RPC 2.0, one call or a batch of up to 1,000',
  tags: ['jsonrpc'],
  parameters: [{ $ref: '#/components/parameters/IdempotencyKey' } as never],
  requestBody: {
    required: true,
    content: {
      [JSON_TYPE]: {
        schema: { oneOf: [CALL_SCHEMA, { type: 'array', items: CALL_SCHEMA, minItems: 1, maxItems: 1_000 }] },
        example: { jsonrpc: '2.0', method: 'jobs.status', params: { id: JOB_ID }, id: 1 }
      }
    }
  },
  responses: {
    200: {
      description: 'The responses, including those of failed calls',
      content: {
        [JSON_TYPE]: {
          schema: { oneOf: [ANSWER_SCHEMA, { type: 'array', items: ANSWER_SCHEMA, minItems: 1 }] },
          example: { jsonrpc: '2.0', result: exampleOf('jobs.status')!.output, id: 1 }
        }
      }
    },
    204: { description: 'No content: all calls were notifications' },
    default: ERROR_RESPONSE
  }
}
