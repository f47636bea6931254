import { cleanup, fireEvent, screen } from '@testing-library/react'
import { useState } from 'react'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { listenForKeys } from '../../state/keys.ts'
import { renderBare } from '../../testing/render-app.tsx'
import type { Column } from './column.ts'
import { VirtualTable } from './virtual-table.tsx'

interface Row {
  id: string
  size: number | null
}
const columns: Column<Row>[] = [
  { id: 'id', header: 'Name', width: '1fr', cell: ({ id }) => id, sortBy: ({ id }) => id },
  { id: 'size', header: 'Size', width: '80px', align: 'end', cell: ({ size }) => size, sortBy: ({ size }) => size }
]
const rows: Row[] = Array.from({ length: 1000 }, (_, index) => ({
  id: `row-${index}`,
  size: index === 1 ? null : 1000 - index
}))
const idOf = ({ id }: Row) => id

let opened: string[]
let stopKeys: () => void

function Example() {
  const [marks, setMarks] = useState<ReadonlySet<string>>(new Set())
  return (
    <>
      <input aria-label="Filter" />
      <output>{[...marks].join(' ')}</output>
      <VirtualTable
        label="Things"
        rows={rows}
        rowId={idOf}
        columns={columns}
        onOpen={({ id }) => opened.push(id)}
        marks={marks}
        onMarks={setMarks}
        primary
      />
    </>
  )
}

beforeEach(() => {
  opened = []
  stopKeys = listenForKeys()
  renderBare(<Example />)
})
afterEach(() => {
  stopKeys()
  cleanup()
})

const press = (key: string, target: Element = document.body) => fireEvent.keyDown(target, { key })
const marked = () => screen.getByRole('status').textContent

it('renders only the visible rows, and exposes how many there are', () => {
  expect(screen.getByRole('grid', { name: 'Things' }).getAttribute('aria-rowcount')).toBe('1001')
  const count = screen.getAllByRole('row').length
  expect(count).toBeGreaterThan(18)
  expect(count).toBeLessThan(60)
})

it('moves by j and k and opens by Enter, without clicking into it first', () => {
  for (const key of ['j', 'j', 'j', 'k', 'Enter']) press(key)
  expect(opened).toEqual(['row-1'])
})

it('marks by x, a range by Shift-x, and by the check boxes', () => {
  for (const key of ['j', 'x', 'j', 'j', 'X']) press(key)
  expect(marked()).toBe('row-0 row-1 row-2')
  const boxes = screen.getAllByRole('checkbox', { name: 'Select row' })
  fireEvent.click(boxes[1] as Element)
  expect(marked()).toBe('row-0 row-2')
  fireEvent.click(boxes[4] as Element, { shiftKey: true })
  expect(marked()).toBe('row-0 row-2 row-1 row-3 row-4')
})

it('leaves keys to a field while it is typed in', () => {
  press('j')
  press('x', screen.getByRole('textbox'))
  expect(marked()).toBe('')
})

it('sorts by a column ascending, descending and not at all, with rows without a value last', () => {
  const head = screen.getByRole('button', { name: 'Size' })
  const first = () => screen.getAllByRole('row')[1]?.textContent
  fireEvent.click(head)
  expect(first()).toBe('row-9991')
  fireEvent.click(head)
  expect(first()).toBe('row-01000')
  expect(screen.getByRole('columnheader', { name: /Size/ }).getAttribute('aria-sort')).toBe('descending')
  fireEvent.click(head)
  expect(screen.getAllByRole('row')[2]?.textContent).toBe('row-1')
})
