import { useMemo } from 'react'

/** Returns the same object while its JSON is equal: nodes change every second, but the parts used here rarely do. */
export function useStable<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  return useMemo(() => JSON.parse(text) as Value, [text])
}
