import { Modal, type ModalProps } from '@mantine/core'
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from 'react'
import classes from './dialog.module.css'
import { Kbd, modKey } from './kbd.tsx'

/**
 * The common dialog. Its first field gets the focus, even if it appears later, and the focus never leaves the dialog.
 * Ctrl-Enter presses the main button from anywhere.
 */
export function Dialog({ children, ...props }: ModalProps) {
  return (
    <Modal {...props} onKeyDown={pressMainButton}>
      <HeldFocus />
      {children}
    </Modal>
  )
}

function pressMainButton(event: KeyboardEvent<HTMLElement>): void {
  if (event.defaultPrevented || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  const dialog = event.currentTarget.querySelector('[role=dialog]')
  dialog?.querySelector<HTMLButtonElement>(`.${classes.foot} button[data-variant=filled]:not(:disabled)`)?.click()
}

const firstIn = (place: Element) =>
  place.querySelector<HTMLElement>(':is(input, textarea, select):not(:disabled, [type=hidden], [tabindex="-1"])') ??
  place.querySelector<HTMLElement>(':is(button, [href]):not(:disabled, [tabindex="-1"], [class*=Modal-close])')

function HeldFocus() {
  const anchor = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const dialog = anchor.current!.closest<HTMLElement>('[role=dialog]')!
    const own = dialog.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null
    // Mantine focuses the marked element, or the close button if there is none.
    if (dialog.querySelector('[data-autofocus]') === null) (own ?? firstIn(dialog))?.setAttribute('data-autofocus', '')
    let isUsed = false
    /**
     * The focused element and its ancestors. If the element disappears, the first focusable element in the nearest
     * remaining ancestor gets the focus.
     */
    let path: Element[] = []
    const follow = ({ target }: Event) => {
      path = []
      for (let at = target as Element | null; at !== null && at !== dialog; at = at.parentElement) path.push(at)
    }
    const use = () => (isUsed = true)
    const hold = () => {
      const at = document.activeElement
      const isLost = at === null || at === document.body || (at as HTMLButtonElement).disabled === true
      const isEarly = !isUsed && at?.matches('[class*=Modal-close]') === true && dialog.contains(at)
      if (!isLost && !isEarly) return
      const near = path.find((each) => dialog.contains(each) && firstIn(each) !== null)
      // While the dialog saves, its button is disabled, and the next focusable element would be Cancel.
      const isSaving = dialog.querySelector('button[data-loading]') !== null
      ;(isSaving ? dialog : (firstIn(near ?? dialog) ?? dialog)).focus()
    }
    const observer = new MutationObserver(hold)
    observer.observe(dialog, { childList: true, subtree: true, attributes: true, attributeFilter: ['disabled'] })
    dialog.addEventListener('focusin', follow)
    for (const event of ['keydown', 'pointerdown']) dialog.addEventListener(event, use)
    return () => {
      observer.disconnect()
      dialog.removeEventListener('focusin', follow)
      for (const event of ['keydown', 'pointerdown']) dialog.removeEventListener(event, use)
    }
  }, [])
  return <span ref={anchor} hidden />
}

export const SubmitKey = () => (
  <span aria-hidden>
    <Kbd>{modKey('↵')}</Kbd>
  </span>
)

interface DialogFootProps {
  says?: string
  children: ReactNode
}

export function DialogFoot({ says, children }: DialogFootProps) {
  return (
    <footer className={classes.foot}>
      {says !== undefined && (
        <span className={`${classes.says} grow dim`} role="status">
          {says}
        </span>
      )}
      {children}
    </footer>
  )
}

export function DialogText({ children }: { children: ReactNode }) {
  return <div className={`${classes.text} dim`}>{children}</div>
}
