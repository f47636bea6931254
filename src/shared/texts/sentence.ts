type Value = string | number | boolean | null | undefined | readonly string[]
type Params = Readonly<Record<string, Value>>
type Texts = Record<string, (params: never) => string>

/** The text of an error, with the data needed to render it in another language. */
export interface Sentence {
  text: string
  code: string
  params: Params
}

/** For the errors of one area, so that a command loads only the texts that it can need. */
export function sentencesOf<Of extends Texts>(texts: Of) {
  return <Code extends keyof Of & string>(code: Code, ...given: Parameters<Of[Code]>): Sentence => {
    const params = (given as [Params?])[0] ?? {}
    return { text: texts[code]!(params as never), code, params }
  }
}
