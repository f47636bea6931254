import { fireEvent, screen, within } from '@testing-library/react'

export async function rowOf(table: string, name: string | RegExp) {
  const cell = await within(await screen.findByRole('table', { name: table })).findByRole('rowheader', { name })
  return within(cell.closest('tr')!)
}

export const dialog = async (name: string) => within(await screen.findByRole('dialog', { name }))

export const enter = (field: HTMLElement, value: string): void => void fireEvent.change(field, { target: { value } })

export async function choose(select: HTMLElement, option: RegExp): Promise<void> {
  fireEvent.click(select)
  fireEvent.click(await screen.findByRole('option', { name: option }))
}

/** `name`: the name in the row. `item`: an entry of its menu. */
export async function act(row: Awaited<ReturnType<typeof rowOf>>, name: string, item: string): Promise<void> {
  fireEvent.click(row.getByRole('button', { name: `More actions for ${name}` }))
  fireEvent.click(await screen.findByRole('menuitem', { name: item }))
}
