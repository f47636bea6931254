import { useMemo } from 'react'

/** The same object while its JSON is the same: nodes change every second, what is taken from them hardly ever. */
export function useStable<Value>(value: Value): Value {
  const text = JSON.stringify(value)
  return useMemo(() => JSON.parse(text) as Value, [text])
}
