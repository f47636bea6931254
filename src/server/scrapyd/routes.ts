import { closeAfter } from '../http2-requests.ts'
import { createHash } from 'node:crypto'
import { METHODS } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { IncomingFiles } from '../../engine/storage/blobs/incoming-files.ts'
import type { FleetAsScrapyd } from '../../engine/api/scrapyd-commands/scrapyd-commands.ts'
import type { SharedAnswers } from '../../engine/cluster/cache/shared-answers.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { scrapydFor } from '../../engine/api/scrapyd-commands/scrapyd-for.ts'
import { isScrapdeckError } from '../../shared/errors.ts'
import type { Audit } from '../../engine/access/audit/audit.ts'
import type { Permission } from '../../shared/permissions.ts'
import { actorOf, sendRequestId } from '../audit-origin.ts'
import { principalOf } from '../auth/authenticator.ts'
import { forPermission } from '../auth/route-permissions.ts'
import { MAX_TEXT_BYTES, MAX_UPLOAD_BYTES } from '../limits.ts'
import { MalformedMultipartError } from '../forms/multipart.ts'
import type { FormValues } from '../forms/urlencoded.ts'
import { addForms, receiveForm } from '../forms/receive-form.ts'
import { ENDPOINTS, type Endpoint } from './endpoints.ts'
import { jobsPage } from './jobs-page.ts'
import { type PythonJsonValue, toPythonJson } from './python-text.ts'
import { DEFAULT_ENDPOINT_SETTINGS, type ScrapydEndpointSettings } from './settings.ts'
import { answerFile } from './static-files.ts'
import { refuseMethod, sendPage, homePage } from './twisted-pages.ts'
import { ScrapydAnswerError, readArguments } from './parameters.ts'

export interface ScrapydEndpointsOptions {
  scrapyd: FleetAsScrapyd
  incoming: Pick<IncomingFiles, 'begin'>
  settings?: Partial<ScrapydEndpointSettings> | undefined
  logger: Logger
  audit: Pick<Audit, 'perform'>
  /** Responses that all engines on this store share. null if this is the only engine. */
  shared: Pick<SharedAnswers, 'find'> | null
  nowMs(): number
}

/**
 * The hash of the only script that pages can run: the Cancel buttons of /jobs ask for confirmation. Pages also have
 * inline styles.
 */
const CONFIRM_SHA256 = createHash('sha256').update("return confirm('Are you sure?');").digest('base64')
const PAGE_POLICY = `default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-hashes' 'sha256-${CONFIRM_SHA256}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

const USUAL_METHODS = ['GET', 'HEAD', 'POST', 'OPTIONS']

/** Serves the fleet as one Scrapyd 1.6 (scrapyd-protocol.md, 1 to 3, 7). Differences: docs/scrapyd-compatibility.md. */
export async function scrapydEndpoints(app: FastifyInstance, options: ScrapydEndpointsOptions): Promise<void> {
  const scrapydOf = (request: FastifyRequest) => scrapydFor(options.scrapyd, principalOf(request))
  const settings = { ...DEFAULT_ENDPOINT_SETTINGS, ...options.settings }
  const nodeName = settings.nodeName ?? options.scrapyd.nodeName
  // Compute this only if needed, because reading the machine's time zone takes longer than everything else here.
  const keyPrefix = options.shared === null ? '' : keyPrefixOf(settings)
  const context: Context = { ...options, settings, nodeName, bodies: new WeakMap(), keyPrefix }
  // Scrapyd responds to every method that Node accepts. Node itself rejects unknown methods.
  const unusual = METHODS.filter((method) => !USUAL_METHODS.includes(method) && method !== 'CONNECT')
  for (const method of unusual) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  const handlers = new Map<string, RouteHandlerMethod>()
  const serve = (url: string, handler: RouteHandlerMethod, permission: Permission = 'read') => {
    handlers.set(url, handler)
    app.route({ method: USUAL_METHODS, url, handler, ...forPermission(permission) })
  }
  app.removeAllContentTypeParsers()
  addForms(app)
  app.addContentTypeParser('*', async (request: FastifyRequest, body: Readable) => {
    const takesEgg = request.routeOptions.url === '/addversion.json'
    try {
      await receiveForm(request, body, {
        incoming: options.incoming,
        isWanted: request.method === 'POST',
        // For endpoints that take no eggs, `egg` is an ordinary argument.
        isFile: ({ name }) => takesEgg && name === 'egg',
        limitBytes: takesEgg ? MAX_UPLOAD_BYTES : MAX_TEXT_BYTES
      })
    } catch (error) {
      if (error instanceof MalformedMultipartError) return error
      throw error
    }
  })
  const isOn = (service: string) => !settings.disabledServices.has(service)
  for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
    const named = { ...endpoint, name }
    if (isOn(name))
      serve(`/${name}`, (request, reply) => handleEndpoint(named, context, request, reply), endpoint.permission)
  }

  const baseOf = (request: FastifyRequest) => basePathOf(request.headers[settings.prefixHeader.toLowerCase()])
  serve('/', async (request, reply) => {
    const refused = refuseMethod(request, reply)
    if (refused !== null) return refused
    const isBrowser = request.headers.accept?.includes('text/html') ?? false
    if (isBrowser && request.caller.kind === 'session') return reply.redirect('/ui/', 303)
    const html = homePage(await scrapydOf(request).listProjects(), {
      base: baseOf(request),
      hasItems: settings.hasItems
    })
    return sendPage(request, reply.header('content-security-policy', PAGE_POLICY), html)
  })
  serve('/jobs', async (request, reply) => {
    const refused = refuseMethod(request, reply)
    if (refused !== null) return refused
    const html = jobsPage(await scrapydOf(request).listJobs(null, settings.finishedToKeep), {
      base: baseOf(request),
      hasLogs: settings.hasLogs,
      hasItems: settings.hasItems,
      hasCancel: isOn('cancel.json'),
      nowMs: options.nowMs()
    })
    // With `no-referrer`, the Cancel buttons would send `Origin: null`, which the origin check rejects.
    reply.headers({ 'content-security-policy': PAGE_POLICY, 'referrer-policy': 'same-origin' })
    return sendPage(request, reply, html)
  })
  for (const tree of ['logs', 'items'] as const) {
    if (!(tree === 'logs' ? settings.hasLogs : settings.hasItems)) continue
    for (const url of [`/${tree}`, `/${tree}/*`]) {
      serve(url, (request, reply) => answerFile(scrapydOf(request), tree, request, reply))
    }
  }
  // All paths share one route, because a route per method and path would take a twentieth of the startup time. Without
  // a permission, only owners can use this route.
  app.route({
    method: unusual,
    url: '/*',
    handler(request, reply) {
      const path = `/${(request.params as { '*': string })['*']}`
      const handler = handlers.get(path) ?? handlers.get(path.replace(/^\/([^/]*)\/.*$/, '/$1/*'))
      return handler === undefined ? reply.callNotFound() : handler.call(app, request, reply)
    }
  })
}

/** Accepts only a plain path. With `//evil.example`, every link of a page would lead to that host. */
function basePathOf(header: string | string[] | undefined): string {
  return typeof header === 'string' && header.length <= 200 && /^(\/[\w.~%-]+)+\/?$/.test(header)
    ? header.replace(/\/$/, '')
    : ''
}

/**
 * Returns a key prefix that contains all settings that affect the text, because engines share responses only if these
 * are equal.
 */
function keyPrefixOf({ finishedToKeep, hasLogs, hasItems }: ScrapydEndpointSettings): string {
  // Responses contain times in the machine's time zone.
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions()
  return `${ANSWERS_VERSION} ${finishedToKeep} ${Number(hasLogs)}${Number(hasItems)} ${timeZone}`
}

/**
 * The version of the text of shared responses. Increase it when the text changes, because engines of two versions can
 * run side by side.
 */
const ANSWERS_VERSION = 1

interface Context extends Pick<ScrapydEndpointsOptions, 'scrapyd' | 'logger' | 'audit' | 'shared'> {
  /** The prefix of the keys of shared responses. Empty if none are shared. */
  keyPrefix: string
  settings: ScrapydEndpointSettings
  nodeName: string
  bodies: WeakMap<object, Body>
}

async function handleEndpoint(
  endpoint: Endpoint & { name: string },
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  if (request.method === 'OPTIONS')
    return reply.code(204).header('allow', ['OPTIONS', 'HEAD', endpoint.method].join(', ')).send()
  const served = request.method === endpoint.method || (request.method === 'HEAD' && endpoint.method === 'GET')
  if (!served) {
    // For HEAD, Scrapyd looks for a GET handler. The client sees only the length of this error.
    const message =
      request.method === 'HEAD'
        ? `AttributeError: '${endpoint.resource}' object has no attribute 'render_GET'`
        : `UnsupportedMethod: Expected one of [b'HEAD', b'OPTIONS', b'${endpoint.method}']`
    return sendFailure(context, request, reply, message)
  }
  if (request.body instanceof MalformedMultipartError) {
    closeAfter(request, reply)
    return reply.code(400).send()
  }
  const { args, files } = readArguments(request.raw.url?.split('?').slice(1).join('?') ?? '', request.form)
  const asked = readRequestedNames(args)
  try {
    const scrapyd = scrapydFor(context.scrapyd, principalOf(request))
    // Shared responses contain all projects, so they are not for callers with limited rights.
    const isShared = context.shared !== null && scrapyd === context.scrapyd
    const key = isShared ? (endpoint.shared?.keyOf(args, scrapyd) ?? null) : null
    const found = key === null ? null : await context.shared!.find(`${context.keyPrefix} ${endpoint.name} ${key}`)
    if (found !== null && found.body !== null) return sendJson(request, reply, ofThisNode(context, found.body))
    const answer = () => endpoint.answer(scrapyd, args, context.settings, files)
    const fields = await (endpoint.method === 'GET'
      ? answer()
      : performAs(request, reply, { endpoint, context, args, answer }))
    const body =
      context.bodies.get(fields) ?? inBytesIfLong(encode({ ...fields, status: 'ok', node_name: context.nodeName }))
    if (endpoint.isCached) context.bodies.set(fields, body)
    if (found !== null && endpoint.shared!.isSame(fields)) found.keep(ofAnyNode(context, body))
    return sendJson(request, reply, body)
  } catch (error) {
    // The gate sends the same response. The audit log already has this rejection.
    if (isScrapdeckError(error) && error.code === 'ROLE_REQUIRED') {
      return sendFailure(context, request, reply.code(403), error.message)
    }
    const message = wordFailure(error, asked)
    if (message === null) {
      context.logger.error({ err: error, path: request.url.split('?', 1)[0] }, 'A request of the Scrapyd API failed')
    }
    const said = message ?? 'InternalError: Internal error. The log of Scrapdeck has the details.'
    return sendFailure(context, request, reply, said)
  }
}

function performAs<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    endpoint: { name },
    context,
    args,
    answer
  }: { endpoint: { name: string }; context: Context; args: FormValues; answer: () => Promise<T> }
): Promise<T> {
  principalOf(request)
  sendRequestId(request, reply)
  // Keep a copy, because the handler removes the arguments that it reads.
  const given = new Map(args)
  const input = () => inputOf(given)
  return context.audit.perform(
    actorOf(request, 'scrapyd'),
    { operation: name, input, writes: true },
    answer
  ) as Promise<T>
}

const LISTED_MAX = 50

/** Returns the arguments by name. Settings become an object, so that secret settings are masked by name. */
function inputOf(args: FormValues): Record<string, unknown> {
  const input = Object.create(null) as Record<string, unknown>
  let count = 0
  for (const [name, [first]] of args) {
    if (name === 'setting' || name === 'egg') continue
    if ((count += 1) > LISTED_MAX) break
    input[name] = textOf(first)
  }
  const settings = args.get('setting')?.slice(0, LISTED_MAX) ?? []
  if (settings.length > 0)
    input['settings'] = Object.fromEntries(settings.map((setting) => nameAndValue(textOf(setting))))
  return input
}

const textOf = (value: Buffer | undefined): string => value?.toString('utf8') ?? ''

function nameAndValue(setting: string): [string, string] {
  const [name = '', ...rest] = setting.split('=')
  return [name, rest.join('=')]
}

/** The end of the envelope names the responding engine, so it is not part of a shared response. */
const tailOf = ({ nodeName }: Context): string => `, "node_name": ${toPythonJson(nodeName)}}\n`

function ofAnyNode(context: Context, body: Body): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
  return bytes.subarray(0, bytes.length - tailOf(context).length)
}

const ofThisNode = (context: Context, body: Buffer): Body =>
  Buffer.concat([body, Buffer.from(tailOf(context), 'latin1')])

function sendFailure(context: Context, request: FastifyRequest, reply: FastifyReply, message: string): FastifyReply {
  if (!context.settings.debug) {
    return sendJson(request, reply, encode({ status: 'error', message, node_name: context.nodeName }))
  }
  const traceback = Buffer.from(`Traceback (most recent call last):\ntwisted.web.error.Error: 200 ${message}\n`)
  reply.code(200).header('content-type', 'text/html').header('content-length', traceback.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(traceback)
}

type Body = string | Buffer

/**
 * The length from which a response is encoded to bytes, once. Shorter responses remain strings, which are sent
 * together with the headers.
 */
const LONG_TEXT = 4_096
const inBytesIfLong = (text: string): Body => (text.length < LONG_TEXT ? text : Buffer.from(text, 'latin1'))

/** A HEAD request gets the content length of the GET response. */
function sendJson(request: FastifyRequest, reply: FastifyReply, body: Body): FastifyReply {
  reply.code(200).header('content-type', 'application/json').header('content-length', body.length)
  return request.method === 'HEAD' ? reply.send() : reply.serializer(unchanged).send(body)
}

/** A serializer for text that is already encoded. Fastify's own would add a charset to the content type. */
const unchanged = (body: unknown) => body as string

function encode(answer: Record<string, PythonJsonValue>): string {
  return `${toPythonJson(answer)}\n`
}

interface RequestedNames {
  project: string
  version: string
  spider: string
}

/** Call this before the endpoint removes parameters from `args`. Accepts invalid names, which the endpoint reports. */
function readRequestedNames(args: FormValues): RequestedNames {
  const first = (name: string) => args.get(name)?.[0]?.toString('utf8')
  return {
    project: first('project') ?? '',
    version: first('_version') ?? first('version') ?? '',
    spider: first('spider') ?? ''
  }
}

/**
 * Phrases a failure as Scrapyd does (scrapyd-protocol.md, 3.2 and 3.3), because clients look for these phrases.
 * Returns null for unexpected errors, whose details clients must not see.
 */
function wordFailure(error: unknown, asked: RequestedNames): string | null {
  if (error instanceof ScrapydAnswerError) return error.message
  if (!isScrapdeckError(error)) return null
  switch (error.code) {
    case 'PROJECT_NOT_FOUND':
      return `project '${asked.project}' not found`
    case 'VERSION_NOT_FOUND':
      return `version '${asked.version}' not found`
    case 'SPIDER_NOT_FOUND':
      return `spider '${asked.spider}' not found`
    case 'EGG_NOT_A_ZIP':
      return 'egg is not a ZIP file (if using curl, use egg=@path not egg=path)'
    case 'EGG_NO_METADATA':
      return runnerError(`  ${error.message}\nscrapyd.exceptions.BadEggError`)
    case 'EGG_NO_SETTINGS':
      return runnerError(`  ${error.message}\nAttributeError: 'NoneType' object has no attribute 'module_name'`)
    case 'EGG_IMPORT_FAILED':
      return runnerError(typeof error.data.stderr === 'string' ? error.data.stderr : error.message)
    default:
      return error.message
  }
}

/** Scrapyd forwards the traceback of the process that lists the spiders. Its last line contains the error. */
function runnerError(text: string): string {
  const beginning = /^(?:Traceback|\S)/.test(text) ? '' : 'Traceback (most recent call last):\n'
  return `RunnerError: ${beginning}${text}\n`
}
