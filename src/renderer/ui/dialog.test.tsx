import { Button, TextInput } from '@mantine/core'
import { cleanup, fireEvent, screen, waitFor } from '@testing-library/react'
import { useState } from 'react'
import { afterEach, expect, it, vi } from 'vitest'
import { renderBare } from '../testing/render-app.tsx'
import { Dialog, DialogFoot } from './dialog.tsx'

afterEach(cleanup)

const label = () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent

it('focuses its first field, not its close button', async () => {
  renderBare(
    <Dialog opened onClose={() => {}} title="Add">
      <TextInput aria-label="Name" />
    </Dialog>
  )
  await waitFor(() => expect(label()).toBe('Name'))
})

it('focuses its first field even if it appears later', async () => {
  function Late() {
    const [isThere, setThere] = useState(false)
    return (
      <Dialog opened onClose={() => {}} title="Add">
        {isThere ? <TextInput aria-label="Name" /> : <span data-testid="load" onMouseOver={() => setThere(true)} />}
      </Dialog>
    )
  }
  renderBare(<Late />)
  await waitFor(() => expect(label()).toBe('Close'))
  fireEvent.mouseOver(screen.getByTestId('load'))
  await waitFor(() => expect(label()).toBe('Name'))
})

it('keeps the focus, and the key of its main button, when the focused element disappears', async () => {
  const act = vi.fn()
  function Vanishing() {
    const [isAll, setAll] = useState(false)
    return (
      <Dialog opened onClose={() => {}} title="Run">
        <TextInput aria-label="Project" />
        <div>
          <TextInput aria-label="Spiders" />
          {!isAll && <Button onClick={() => setAll(true)}>Choose all</Button>}
        </div>
        <DialogFoot>
          <Button>Cancel</Button>
          <Button variant="filled" onClick={act}>
            Run
          </Button>
        </DialogFoot>
      </Dialog>
    )
  }
  renderBare(<Vanishing />)
  await waitFor(() => expect(label()).toBe('Project'))
  const all = screen.getByRole('button', { name: 'Choose all' })
  all.focus()
  fireEvent.click(all)
  await waitFor(() => expect(label()).toBe('Spiders'))
  fireEvent.keyDown(document.activeElement!, { key: 'Enter', ctrlKey: true })
  expect(act).toHaveBeenCalledOnce()
})
