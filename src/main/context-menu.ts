import type { ContextMenuParams, MenuItemConstructorOptions } from 'electron'
import { texts } from '../shared/texts/ui/desktop.ts'

type Params = Pick<ContextMenuParams, 'isEditable' | 'selectionText' | 'linkURL' | 'editFlags'>

/** The items for what is under the pointer. Empty: there is nothing to cut, copy or paste, so no menu opens. */
export function contextItems(
  { isEditable, selectionText, linkURL, editFlags }: Params,
  copyLink: (url: string) => void
): MenuItemConstructorOptions[] {
  const link: MenuItemConstructorOptions[] = /^https?:/.test(linkURL)
    ? [{ label: texts.copyLink, click: () => copyLink(linkURL) }]
    : []
  if (isEditable) {
    return [
      { role: 'undo', enabled: editFlags.canUndo },
      { role: 'redo', enabled: editFlags.canRedo },
      { type: 'separator' },
      { role: 'cut', enabled: editFlags.canCut },
      { role: 'copy', enabled: editFlags.canCopy },
      { role: 'paste', enabled: editFlags.canPaste },
      { type: 'separator' },
      { role: 'selectAll', enabled: editFlags.canSelectAll }
    ]
  }
  return [...link, ...(selectionText.trim() === '' ? [] : [{ role: 'copy' } as const])]
}
