import { z } from 'zod'
import { ProjectPython, RunEnvironment, RunLimits } from '../../../shared/contract/settings.ts'
import { ProjectName, VersionName } from '../../../shared/contract/ids.ts'
import { NodeError } from '../node-client.ts'
import { asParam, decode, encode, encodeText, type Message, plain, render } from '../../../shared/texts/message.ts'
import type { SeenJob as SeenByNode } from '../node-client.ts'

/**
 * The path of the leader's requests to the local node of each engine. Engines trust each other, so the bounds of the
 * messages only limit the damage that a broken engine can do. Both sides ignore unknown fields, because different
 * versions can run together.
 */
export const HOSTED_PATH = '/api/engine/v1'

const NAME_MAX = 1_000
/**
 * The maximum length of an error message. Longer messages keep their end, because the end of a traceback contains
 * the cause.
 */
const WORDS_MAX = 20_000
const RUNS_MAX = 5_000
const FILE_BYTES_MAX = 64 * 1024 * 1024
const Name = z.string().min(1).max(NAME_MAX)
const Project = z.string().min(1).max(NAME_MAX).pipe(ProjectName)
const Version = z.string().min(1).max(NAME_MAX).pipe(VersionName)
const Count = z.number().int().min(0)
const Texts = z.record(z.string(), z.string())
const EggName = z.object({ project: Project, version: Version })
const Nothing = z.object({})

const LIMIT_TEXT_MAX = 500
const LIMIT_MESSAGE_MAX = 1_000
const SeenExit = z.object({
  code: z.number().int().nullable(),
  signal: z.string().max(50).nullable(),
  finishReason: z.string().max(400).nullish(),
  limit: z.string().max(LIMIT_TEXT_MAX).nullable(),
  /** The encoded message. Older engines send and read only `limit`, its text. */
  limitMessage: z.string().max(LIMIT_MESSAGE_MAX).optional(),
  peakMemoryBytes: z.number().nullable(),
  cpuSeconds: z.number().nullable()
})
const SeenJob = z.object({
  project: Project,
  spider: Name,
  jobid: Name,
  pid: z.number().int().nullable(),
  startTime: z.string().max(100).nullable(),
  endTime: z.string().max(100).nullable(),
  exit: SeenExit.nullable()
})
const Seen = z.array(SeenJob).max(RUNS_MAX)

type SentJob = z.infer<typeof SeenJob>

export function toSentJob({ exit, heldOf: _, ...job }: SeenByNode): SentJob {
  if (exit?.limit == null) return { ...job, exit: exit && { ...exit, limit: null } }
  // Spiders can write to the file that contains the limit. The text says the same as the encoded message.
  const limit = render(exit.limit).slice(0, LIMIT_TEXT_MAX)
  const limitMessage = encode(exit.limit)
  if (limitMessage.length > LIMIT_MESSAGE_MAX) return { ...job, exit: { ...exit, limit } }
  return { ...job, exit: { ...exit, limit, limitMessage } }
}

export function fromSentJob({ exit, ...job }: SentJob): SeenByNode {
  if (exit === null) return { ...job, exit }
  const { limit: text, limitMessage, ...end } = exit
  if (!text) return { ...job, exit: { ...end, limit: null } }
  return { ...job, exit: { ...end, limit: messageFor(text, limitMessage, LIMIT_TEXT_MAX) } }
}

const NOT_READY_TEXT_MAX = 2_000
/** As in NodeClient.whyNotReady. `projects`: projects with a separate Python. */
const SentNotReady = z.object({
  others: z.string().max(NOT_READY_TEXT_MAX).nullable(),
  projects: z.array(z.tuple([Name, z.string()])),
  /** Encoded messages. '' stands for `others`. Older engines send and read only the texts. */
  messages: z.array(z.tuple([z.string(), z.string()])).optional()
})

export interface NotReady {
  others: Message | null
  projects: ReadonlyMap<string, Message>
}

export function toSentNotReady({ others, projects }: NotReady): z.infer<typeof SentNotReady> {
  const text = (message: Message) => render(message).slice(0, NOT_READY_TEXT_MAX)
  const all: [string, Message][] = [...projects, ...(others === null ? [] : [['', others] as [string, Message]])]
  return {
    others: others && text(others),
    projects: [...projects].map(([project, message]) => [project, text(message)]),
    messages: all.map(([project, message]) => [project, encode(message)])
  }
}

export function fromSentNotReady({ others, projects, messages }: z.infer<typeof SentNotReady>): NotReady {
  const sent = new Map(messages)
  const read = (project: string, text: string) => messageFor(text, sent.get(project), NOT_READY_TEXT_MAX)
  return {
    others: others === null ? null : read('', others),
    projects: new Map(projects.map(([project, text]) => [project, read(project, text)]))
  }
}

/** Falls back to the text, which can be cut, because a later version can send codes that we do not know. */
function messageFor(text: string, encoded: string | undefined, textMax: number): Message {
  const message = encoded === undefined ? plain(text) : decode(encoded)
  return render(message).slice(0, textMax) === text ? message : plain(text)
}

export const RunFile = z.object({
  kind: z.enum(['log', 'items', 'printed']),
  project: Project,
  spider: Name,
  jobid: Name,
  offset: z.number().int(),
  limitBytes: Count.max(FILE_BYTES_MAX)
})
export type RunFile = z.infer<typeof RunFile>

export const EggUpload = EggName.extend({ sha256: z.string().regex(/^[0-9a-f]{64}$/) })
export type EggUpload = z.infer<typeof EggUpload>

/** The Pythons of projects that do not use the default. Pairs, because a project can be called `constructor`. */
export const ProjectPythons = z.array(z.tuple([Project, ProjectPython])).max(2_000)
export type ProjectPythons = z.infer<typeof ProjectPythons>

export const HOSTED_OPERATIONS = {
  /** `slots`: set by the operator, or null. `pythons`: absent if the node has the list of this `pythonsTag`. */
  status: {
    input: z.object({ slots: Count.max(10_000).nullable(), pythonsTag: Name, pythons: ProjectPythons.optional() }),
    output: z.object({
      pending: Count,
      running: Count,
      finished: Count,
      nodeName: z.string().max(500).nullable(),
      slots: Count,
      hasPythons: z.boolean(),
      notReady: SentNotReady
    })
  },
  jobs: { input: Nothing, output: z.object({ pending: Seen, running: Seen, finished: Seen }) },
  schedule: {
    input: z.object({
      project: Project,
      version: Version,
      spider: Name,
      jobid: Name,
      settings: Texts,
      args: Texts,
      env: RunEnvironment.optional(),
      priority: z.number(),
      isVersionAsked: z.boolean(),
      secretNames: z.array(z.string()),
      limits: RunLimits.nullable()
    }),
    output: z.object({ jobid: Name })
  },
  cancel: {
    input: z.object({
      project: Project,
      jobid: Name,
      signal: z.union([z.enum(['HUP', 'INT', 'KILL', 'STOP', 'TERM']), z.number().int()])
    }),
    output: z.object({ wasState: z.enum(['pending', 'running']).nullable() })
  },
  release: { input: z.object({ jobids: z.array(Name).max(RUNS_MAX) }), output: Nothing },
  /** Responds when the number of changes differs from `changes`, or after a while. */
  news: { input: z.object({ changes: Count }), output: z.object({ changes: Count }) },
  spiders: { input: EggName, output: z.object({ spiders: z.array(z.string()).max(10_000) }) },
  projects: { input: Nothing, output: z.object({ projects: z.array(Project).max(2_000) }) },
  versions: { input: z.object({ project: Project }), output: z.object({ versions: z.array(Version).max(50_000) }) },
  deleteVersion: { input: EggName, output: Nothing }
} as const
export type HostedOperation = keyof typeof HOSTED_OPERATIONS
export const OPERATION_NAMES = Object.keys(HOSTED_OPERATIONS) as HostedOperation[]
export type HostedInput<Name extends HostedOperation> = z.infer<(typeof HOSTED_OPERATIONS)[Name]['input']>
export type HostedOutput<Name extends HostedOperation> = z.infer<(typeof HOSTED_OPERATIONS)[Name]['output']>

/** `signal`: aborted when the caller no longer waits for the response. Methods reject with NodeError. */
export type HostedAnswers = {
  [Name in HostedOperation]: (input: HostedInput<Name>, signal: AbortSignal) => Promise<HostedOutput<Name>>
}

export const EggAnswer = z.object({ spiders: Count })

export const FILE_RANGE_HEADER = 'x-scrapdeck-range'
export const FileRange = z.object({ offset: Count, sizeBytes: Count, fileId: z.string().max(200).optional() })
export const NO_FILE = 204

/** A NodeError in transit. The engine that sent the request adds the name of the node. */
export const HostedFailure = z.object({
  failure: z.object({
    kind: z.enum(['refused', 'reset', 'aborted']),
    message: z.string().max(WORDS_MAX),
    delivered: z.enum(['no', 'unknown']),
    nodeMessage: z.string().max(WORDS_MAX).nullable(),
    /** `message` and `nodeMessage`, encoded. Older engines send and read only the texts. */
    said: z.string().max(WORDS_MAX).optional(),
    nodeSaid: z.string().max(WORDS_MAX).optional(),
    refusal: z
      .enum([
        ...(['unknown_project', 'unknown_version', 'unknown_spider', 'bad_egg', 'import_failed'] as const),
        ...(['process_ended', 'unrunnable', 'other'] as const)
      ])
      .catch('other')
  })
})
export type HostedFailure = z.infer<typeof HostedFailure>['failure']

/** Longer texts are cut, and their codes are not sent. */
function encodedIfShort(
  name: 'said' | 'nodeSaid',
  said: Message | string | null
): { said?: string; nodeSaid?: string } {
  const encoded = said === null ? '' : encodeText(said)
  return encoded === '' || encoded.length > WORDS_MAX ? {} : { [name]: encoded }
}

/** A failure's message and the node's original message, with their codes if the other engine sent them. */
export function saidInFailure({ message, nodeMessage, said, nodeSaid }: HostedFailure) {
  return {
    said: messageFor(message, said, WORDS_MAX),
    nodeSaid: nodeMessage === null ? null : asParam(messageFor(nodeMessage, nodeSaid, WORDS_MAX))
  }
}

/** null: a different error, which only this engine can explain. */
export function failureOf(error: unknown): HostedFailure | null {
  if (!(error instanceof NodeError)) return null
  const { message, said, delivered, nodeMessage, nodeSaid, refusal } = error
  const kind = error.kind === 'refused' || error.kind === 'aborted' ? error.kind : 'reset'
  const end = (text: string) => text.slice(-WORDS_MAX)
  return {
    kind,
    message: end(message),
    delivered,
    nodeMessage: nodeMessage === null ? null : end(nodeMessage),
    ...encodedIfShort('said', said),
    ...encodedIfShort('nodeSaid', nodeSaid),
    refusal
  }
}
