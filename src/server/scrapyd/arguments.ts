import type { IncomingFile } from '../../engine/storage/blobs/incoming-files.ts'
import type { FormPart } from '../forms/form-collector.ts'
import { addValue, type FormValues } from '../forms/form-values.ts'
import { parseUrlEncoded } from '../forms/urlencoded.ts'
import { remember } from '../remember.ts'

const parseQuery = remember((query): FormValues => parseUrlEncoded(Buffer.from(query, 'latin1')))

/**
 * The arguments of a request as Scrapyd reads them (scrapyd-protocol.md, 1): always the query; on POST also a form,
 * whose names replace those of the query. Of several files of one name, the first counts.
 */
export function readArguments(
  query: string,
  form: FormPart[] | null
): { args: FormValues; files: ReadonlyMap<string, IncomingFile> } {
  const args: FormValues = new Map()
  for (const [name, values] of parseQuery(query)) args.set(name, [...values])
  const files = new Map<string, IncomingFile>()
  for (const { name } of form ?? []) args.delete(name)
  for (const { name, value } of form ?? []) {
    if (Buffer.isBuffer(value)) addValue(args, name, value)
    else if (!files.has(name)) files.set(name, value)
  }
  return { args, files }
}
