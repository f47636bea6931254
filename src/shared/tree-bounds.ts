import { ScrapdeckError } from './errors.ts'
import { UNUSABLE_NAME } from './reserved-arguments.ts'
import { sentence } from './texts/errors/values.ts'
import type { Sentence } from './texts/sentence.ts'

export interface TreeBounds {
  depth: number
  /** The maximum number of values and characters of text in total. A YAML alias counts each time it is used. */
  size?: number
}

/** The bounds for the contract's input. They allow more depth than any schema of the contract. */
export const INPUT_BOUNDS: TreeBounds = { depth: 100 }

/**
 * Returns why a parsed JSON or YAML value cannot be used ("is nested …"), or null. Call this before recursive code gets
 * the value. Rejects fields named UNUSABLE_NAME, which JavaScript loses when it copies objects.
 */
export function problemOfTree(root: unknown, { depth, size = Number.POSITIVE_INFINITY }: TreeBounds): Sentence | null {
  let level: object[] = isObject(root) ? [root] : []
  let left = size
  for (let above = 0; level.length > 0; above += 1) {
    if (above === depth) return sentence('values.nested_too_deep', { depth })
    const next: object[] = []
    for (const one of level) {
      if (Object.hasOwn(one, UNUSABLE_NAME)) return sentence('values.field_not_supported', { field: UNUSABLE_NAME })
      const values: unknown[] = Array.isArray(one) ? one : Object.values(one)
      for (const value of values) {
        left -= typeof value === 'string' ? 1 + value.length : 1
        if (left < 0) return sentence('values.too_large', { size })
        if (isObject(value)) next.push(value)
      }
    }
    level = next
  }
  return null
}

/**
 * An interceptor for APIs of the contract that receive structures, not text. Rejects unusable structures with
 * BAD_INPUT.
 */
export async function refuseBadTrees<Output>(options: {
  input: unknown
  next(): PromiseLike<Output>
}): Promise<Output> {
  const problem = problemOfTree(options.input, INPUT_BOUNDS)
  if (problem !== null) throw new ScrapdeckError('BAD_INPUT', sentence('values.request_refused', { problem }))
  return options.next()
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
