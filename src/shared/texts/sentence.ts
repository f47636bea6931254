type Value = string | number | boolean | null | undefined | readonly string[] | Sentence
type Params = Readonly<Record<string, Value>>
type Texts = Record<string, (params: never) => string>

/** The text of an error, with the data needed to render it in another language. */
export interface Sentence {
  text: string
  code: string
  params: Params
}

/** Another sentence can be passed instead of a string. Its code and parameters are kept. */
type Nested<P> = { [K in keyof P]: P[K] extends string ? P[K] | Sentence : P[K] }
type Given<Text> = Text extends (params: infer P) => string ? (unknown extends P ? [] : [params: Nested<P>]) : never

/** For the errors of one area, so that a command loads only the texts of the areas that it uses. */
export function sentencesOf<Of extends Texts>(texts: Of) {
  return <Code extends keyof Of & string>(code: Code, ...given: Given<Of[Code]>): Sentence => {
    const params = (given as unknown as [Params?])[0] ?? {}
    const rendered = Object.entries(params).map(([name, value]) => [name, isSentence(value) ? value.text : value])
    return { text: texts[code]!(Object.fromEntries(rendered) as never), code, params }
  }
}

const isSentence = (value: Value): value is Sentence => typeof value === 'object' && value !== null && 'text' in value
