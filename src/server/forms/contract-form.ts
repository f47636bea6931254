import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { IncomingFiles } from '../../engine/storage/blobs/incoming-files.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { MAX_UPLOAD_BYTES } from '../limits.ts'
import { type FormPart, type PartHead, releaseFiles } from './form-collector.ts'
import { MalformedMultipartError } from './multipart.ts'
import { addForms, receiveForm } from './receive-form.ts'

/** Makes forms available to oRPC as it expects them, `FormData` in `body`; their files stay on disk. */
export function parseContractForms(app: FastifyInstance, incoming: Pick<IncomingFiles, 'begin' | 'toFile'>): void {
  addForms(app)
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, body: Readable) => {
    try {
      const isFile = ({ fileName }: PartHead) => fileName !== null
      await receiveForm(request, body, { incoming, isWanted: true, isFile, limitBytes: MAX_UPLOAD_BYTES })
    } catch (error) {
      if (!(error instanceof MalformedMultipartError)) throw error
      throw new ScrapdeckError('BAD_INPUT', 'The body of the request is not a form.', { cause: error })
    }
    try {
      return await formDataOf(request.form ?? [], incoming)
    } catch (error) {
      // Before the hook that would release them with the answer.
      await releaseFiles(request.form ?? [])
      throw error
    }
  })
}

async function formDataOf(form: FormPart[], incoming: Pick<IncomingFiles, 'toFile'>): Promise<FormData> {
  const data = new FormData()
  for (const { name, fileName, type, value } of form) {
    const part = Buffer.isBuffer(value)
      ? new TextDecoder().decode(value)
      : await incoming.toFile(value, unescapeName(fileName!), type)
    data.append(unescapeName(name), part as File)
  }
  return data
}

/** Browsers send UTF-8, with these three characters escaped (https://html.spec.whatwg.org, multipart/form-data). */
function unescapeName(latin1: string): string {
  const escaped: Record<string, string> = { '%22': '"', '%0D': '\r', '%0A': '\n' }
  return Buffer.from(latin1, 'latin1')
    .toString('utf8')
    .replace(/%22|%0D|%0A/gi, (found) => escaped[found.toUpperCase()]!)
}
