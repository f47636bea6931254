import { expect, test } from 'vitest'
import { contextItems } from './context-menu.ts'

const FLAGS = {
  canUndo: false,
  canRedo: false,
  canCut: true,
  canCopy: true,
  canPaste: true,
  canDelete: true,
  canSelectAll: true,
  canEditRichly: false
}
const nothing = { isEditable: false, selectionText: '', linkURL: '', editFlags: FLAGS }

test('a field offers to cut, copy and paste, and what is impossible now is disabled', () => {
  const items = contextItems({ ...nothing, isEditable: true, editFlags: { ...FLAGS, canPaste: false } }, () => {})
  expect(items.map(({ role }) => role)).toEqual(
    expect.arrayContaining(['undo', 'redo', 'cut', 'copy', 'paste', 'selectAll'])
  )
  expect(items.find(({ role }) => role === 'paste')?.enabled).toBe(false)
  expect(items.find(({ role }) => role === 'copy')?.enabled).toBe(true)
})

test('selected text can be copied, and a web link too; without either, no menu opens', () => {
  expect(contextItems(nothing, () => {})).toEqual([])
  expect(contextItems({ ...nothing, selectionText: ' \n' }, () => {})).toEqual([])
  expect(contextItems({ ...nothing, selectionText: 'spider' }, () => {})).toEqual([{ role: 'copy' }])
  const copied: string[] = []
  const [link] = contextItems({ ...nothing, linkURL: 'https://docs.scrapy.org/' }, (url) => copied.push(url))
  link!.click!({} as never, undefined, {} as never)
  expect([link!.label, copied]).toEqual(['Copy link', ['https://docs.scrapy.org/']])
  expect(contextItems({ ...nothing, linkURL: 'scrapdeck-app://app/#/jobs' }, () => {})).toEqual([])
})
