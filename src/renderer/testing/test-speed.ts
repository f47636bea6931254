import { configure, getConfig } from '@testing-library/react'
import * as React from 'react'

const LABELLABLE = 'button, input:not([type="hidden"]), meter, output, progress, select, textarea'

/** Replaces jsdom's lookup, which searches the whole page for each element, once per label. */
function labelsOf(element: HTMLElement): HTMLLabelElement[] {
  const isItsLabel = (label: HTMLLabelElement) =>
    label.htmlFor === '' ? label.querySelector(LABELLABLE) === element : label.htmlFor === element.id
  return [...element.ownerDocument.getElementsByTagName('label')].filter(isItsLabel)
}

for (const { prototype } of [HTMLButtonElement, HTMLInputElement, HTMLSelectElement, HTMLTextAreaElement]) {
  Object.defineProperty(prototype, 'labels', {
    configurable: true,
    get(this: HTMLElement) {
      return labelsOf(this)
    }
  })
}

const { getElementError } = getConfig()
configure({
  // Each `findBy…` or `waitFor` poll without a match would create an error that contains the whole page. Only the
  // final error, after the timeout, gets the page.
  getElementError(message, container) {
    const config = getConfig() as { _disableExpensiveErrorDiagnostics?: boolean }
    if (config._disableExpensiveErrorDiagnostics !== true) return getElementError(message, container)
    return Object.assign(new Error(message ?? ''), { name: 'TestingLibraryElementError' })
  }
})

// Stops React from recording where each element was created, which takes a seventh of the time of all screen tests.
const INTERNALS = '__CLIENT_INTERNALS_DO_NOT_USE_OR_WARN_USERS_THEY_CANNOT_UPGRADE'
const internals = (React as unknown as Record<string, { recentlyCreatedOwnerStacks: number } | undefined>)[INTERNALS]
if (internals?.recentlyCreatedOwnerStacks === undefined) throw new Error('React counts these stacks elsewhere now')
Object.defineProperty(internals, 'recentlyCreatedOwnerStacks', { get: () => Number.MAX_SAFE_INTEGER, set: () => {} })
