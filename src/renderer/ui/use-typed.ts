import { useEffect, useRef, useState } from 'react'

const TYPED_AFTER_MS = 250

/** Searches shortly after the user stops typing. If the address changes elsewhere, the box follows. */
export function useTyped(text: string | undefined, search: (text: string | undefined) => void) {
  const [typed, setTyped] = useState(text ?? '')
  const asked = useRef(text)
  const later = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(later.current), [])
  useEffect(() => {
    if (text === asked.current) return
    asked.current = text
    setTyped(text ?? '')
  }, [text])
  const type = (next: string) => {
    setTyped(next)
    clearTimeout(later.current)
    later.current = setTimeout(() => {
      asked.current = next.trim() === '' ? undefined : next.trim().slice(0, 200)
      search(asked.current)
    }, TYPED_AFTER_MS)
  }
  return [typed, type] as const
}
