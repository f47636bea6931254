import { Popover, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { explainError } from '../api/explain-error.ts'
import { type KeyBinding, useKeys } from '../state/keys.ts'
import classes from './log-go-to.module.css'
import type { LogSnapshot, LogView } from './log-view.ts'
import { texts } from '../../shared/texts/ui/terminal.ts'

interface LogGoToProps {
  view: LogView | null
  snapshot: LogSnapshot
  hasKeys: boolean
}

export function LogGoTo({ view, snapshot, hasKeys }: LogGoToProps) {
  const [isOpen, { open, close, toggle }] = useDisclosure()
  const [wanted, setWanted] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const [isGoing, setGoing] = useState(false)
  const bindings: KeyBinding[] = [{ key: 'l', label: texts.goToLineOrTime, run: open }]
  useKeys(texts.log, bindings, hasKeys)

  async function go(event: FormEvent) {
    event.preventDefault()
    if (view === null || wanted.trim() === '') return
    setGoing(true)
    try {
      await (readLine(wanted) === null ? view.showTime(wanted.trim()) : view.showLine(readLine(wanted)!))
      setProblem(null)
      close()
    } catch (error) {
      setProblem(explainError(error).text)
    } finally {
      setGoing(false)
    }
  }

  const { topNumber } = snapshot
  return (
    <Popover opened={isOpen} onChange={(opened) => !opened && close()} position="top-start" width={260} trapFocus>
      <Popover.Target>
        <button type="button" className={classes.button} onClick={toggle} title={texts.goToLineOrTimeHint}>
          {topNumber === null ? texts.goTo : texts.lineNumber(topNumber)}
        </button>
      </Popover.Target>
      <Popover.Dropdown>
        <form onSubmit={(event) => void go(event)}>
          <TextInput
            label={texts.goToLineOrTime}
            placeholder="120 or 14:05"
            description={texts.goToHint}
            value={wanted}
            error={problem}
            disabled={isGoing}
            onChange={(event) => {
              setWanted(event.target.value)
              setProblem(null)
            }}
            data-autofocus
          />
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}

/** Parses `120`, `1,200` or `120-140`. null: not a line number, so the text is a time. */
function readLine(text: string): { from: number; to: number } | null {
  const [, first, last] = /^\s*([\d,]+)(?:\s*[-–]\s*([\d,]+))?\s*$/.exec(text) ?? []
  if (first === undefined) return null
  const numberOf = (digits: string) => Number(digits.replaceAll(',', ''))
  const from = Math.max(1, numberOf(first))
  return { from, to: Math.max(from, last === undefined ? from : numberOf(last)) }
}
