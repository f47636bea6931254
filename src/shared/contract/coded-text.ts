import { z } from 'zod'

const Code = z.string().optional()
const Params = z.record(z.string(), z.unknown()).optional()

/** The code and the parameters of the `text` beside them (shared/texts). Older servers do not send them. */
export const codeOfText = { code: Code, params: Params }

/** What is wrong; null: nothing. */
export const problemText = { problem: z.string().nullable(), problemCode: Code, problemParams: Params }
