/** Texts by code. A parameter of a text that is a message is rendered before the text gets it. */
export type Texts = Readonly<Record<string, (params: never) => string>>

interface Sent {
  code: string
  params: Readonly<Record<string, unknown>>
}

/** Returns the code itself if a later version wrote it, or if the stored parameters do not fit its text. */
export function renderIn(texts: Texts, { code, params }: Sent): string {
  const text = ofCode(texts, code)
  if (text === undefined) return code
  try {
    const given = Object.entries(params).map(([name, value]) => [name, isSent(value) ? renderIn(texts, value) : value])
    return text(Object.fromEntries(given) as never)
  } catch {
    return code
  }
}

/** Whether the texts have the code of the message, and those of the messages among its parameters. */
export const canRender = (texts: Texts, { code, params }: Sent): boolean =>
  ofCode(texts, code) !== undefined && Object.values(params).every((value) => !isSent(value) || canRender(texts, value))

const ofCode = (texts: Texts, code: string) => (Object.hasOwn(texts, code) ? texts[code] : undefined)

const isSent = (value: unknown): value is Sent => typeof value === 'object' && value !== null && !Array.isArray(value)
