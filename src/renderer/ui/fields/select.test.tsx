import { cleanup, fireEvent, screen } from '@testing-library/react'
import { useState } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { renderBare } from '../../testing/render-app.tsx'
import { useFormOf } from './form-of-schema.ts'
import { SchemaForm } from './schema-form.tsx'
import { MultiSelect, ZoneSelect } from './select.tsx'

afterEach(cleanup)

const schema = z.object({ zone: z.string() })
const save = vi.fn(async () => undefined)

function Zoned() {
  const form = useFormOf({ schema, start: () => ({ zone: 'UTC' }), save })
  return (
    <SchemaForm form={form} label="Schedule">
      <ZoneSelect {...form.input('zone')} label="Time zone" />
      <button type="submit">Save</button>
    </SchemaForm>
  )
}

const box = () => screen.getByRole<HTMLInputElement>('combobox')
const type = (value: string) => fireEvent.change(box(), { target: { value } })
const saved = () => save.mock.calls.map((call: unknown[]) => call[0])

it('an unknown time zone is an error at its field, and the schedule is not saved with the previous one', async () => {
  save.mockClear()
  renderBare(<Zoned />)
  box().focus()
  type('UTCberlin')
  fireEvent.keyDown(box(), { key: 'Enter', ctrlKey: true })
  box().blur()
  expect(await screen.findByText('“UTCberlin” is not in the list')).toBeTruthy()
  expect(box().value).toBe('UTCberlin')
  expect(box().getAttribute('aria-invalid')).toBe('true')
  fireEvent.submit(screen.getByRole('form'))
  expect(save).not.toHaveBeenCalled()
  expect(document.activeElement).toBe(box())

  type('europe/berlin')
  box().blur()
  await vi.waitFor(() => expect(box().value).toBe('Europe/Berlin'))
  expect(box().getAttribute('aria-invalid')).not.toBe('true')
  fireEvent.submit(screen.getByRole('form'))
  await vi.waitFor(() => expect(saved()).toEqual([{ zone: 'Europe/Berlin' }]))
})

it('the first click selects the text, so that typing replaces it', () => {
  renderBare(<Zoned />)
  box().focus()
  box().setSelectionRange(3, 3)
  fireEvent.click(box())
  expect([box().selectionStart, box().selectionEnd]).toEqual([0, 3])
  box().setSelectionRange(1, 1)
  fireEvent.click(box())
  expect(box().selectionEnd).toBe(1)
})

it('a typed value is accepted by the key that saves', async () => {
  save.mockClear()
  renderBare(<Zoned />)
  box().focus()
  type('Asia/Tokyo')
  fireEvent.keyDown(box(), { key: 'Enter', ctrlKey: true })
  await vi.waitFor(() => expect(saved()).toEqual([{ zone: 'Asia/Tokyo' }]))
})

it('a select of several values accepts typed text on blur, or says that there is no such value', async () => {
  function Several() {
    const [value, setValue] = useState<string[]>(['a'])
    return <MultiSelect aria-label="Tags" data={['a', 'eu', 'us']} searchable value={value} onChange={setValue} />
  }
  renderBare(<Several />)
  box().focus()
  type('eu')
  box().blur()
  expect(await screen.findByText('eu', { selector: '[class*=Pill-label]' })).toBeTruthy()
  box().focus()
  type('asia')
  box().blur()
  expect(await screen.findByText('“asia” is not in the list')).toBeTruthy()
})

it('a field of several values has no error any more once a wrong text was corrected or cleared', async () => {
  function Several() {
    const [value, setValue] = useState<string[]>([])
    return <MultiSelect label="Spiders" data={['alpha', 'beta']} searchable value={value} onChange={setValue} />
  }
  renderBare(<Several />)
  for (const corrected of ['alpha', '']) {
    box().focus()
    type('asia')
    box().blur()
    expect(await screen.findByText('“asia” is not in the list')).toBeTruthy()
    box().focus()
    type(corrected)
    box().blur()
    await vi.waitFor(() => expect(screen.queryByText(/is not in the list/)).toBeNull())
    expect(document.querySelector('[data-not-an-option]')).toBeNull()
  }
  expect(screen.getAllByText('alpha').length).toBeGreaterThan(0)
})

it('a field whose text is controlled by its parent accepts typing', () => {
  function Held() {
    const [text, setText] = useState('')
    return <MultiSelect label="After" data={[]} searchable searchValue={text} onSearchChange={setText} />
  }
  renderBare(<Held />)
  box().focus()
  type('abc')
  expect(box().value).toBe('abc')
})

it('a field does not open its list over the fields below when it gets the focus, but on typing and clicks', async () => {
  renderBare(<Zoned />)
  box().focus()
  expect(box().getAttribute('aria-expanded')).not.toBe('true')
  type('europe/ber')
  await vi.waitFor(() => expect(box().getAttribute('aria-expanded')).toBe('true'))
})
