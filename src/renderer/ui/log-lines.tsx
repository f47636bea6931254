import { type CSSProperties, useLayoutEffect, useRef } from 'react'
import { plainText } from '../terminal/sanitise.ts'
import classes from './log-lines.module.css'

interface LogLinesProps {
  label: string
  lines: readonly string[]
  maxHeight: CSSProperties['maxHeight']
}

export function LogLines({ label, lines, maxHeight }: LogLinesProps) {
  const screen = useRef<HTMLPreElement>(null)
  useLayoutEffect(() => {
    if (screen.current !== null) screen.current.scrollTop = screen.current.scrollHeight
  }, [lines])
  return (
    <pre ref={screen} className={`${classes.screen} box break`} style={{ maxHeight }} aria-label={label} tabIndex={0}>
      {lines.map(plainText).join('\n')}
    </pre>
  )
}
