import type { EngineWithFakeNode } from '../../engine/testing/engine-with-fake-node.ts'

type Client = EngineWithFakeNode['client']

/** Returns the result of a call as text: its response, its error, or the first messages of a stream. */
export async function outcome(client: Client, name: string, input: unknown): Promise<string> {
  const [noun, verb] = name.split('.') as [keyof Client, string | undefined]
  const call = (verb === undefined ? client[noun] : client[noun][verb as never]) as unknown as (
    input: unknown,
    options: { signal: AbortSignal }
  ) => Promise<unknown>
  const stopping = new AbortController()
  try {
    const answer = await call(input, { signal: stopping.signal })
    if (answer === null || typeof answer !== 'object' || !(Symbol.asyncIterator in answer)) {
      return JSON.stringify(answer)
    }
    const parts: unknown[] = []
    for await (const part of answer as AsyncIterable<unknown>) {
      parts.push(part)
      if (parts.length === 3 || name === 'events.subscribe') break
    }
    return JSON.stringify(parts)
  } catch (error) {
    const { code, message, data } = error as { code: string; message: string; data: unknown }
    return JSON.stringify({ code, message, data })
  } finally {
    stopping.abort()
  }
}
