import { configure, getConfig } from '@testing-library/react'

// Nothing here changes what a test finds; without it the tests of the screens take longer.

const LABELLABLE = 'button, input:not([type="hidden"]), meter, output, progress, select, textarea'

/** jsdom goes through the whole page for each label on it, whenever the labels of one element are asked for. */
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
  // Each poll of `findBy…` and `waitFor` that finds nothing makes an error with the whole page in it. The one that is
  // shown when the time is up gets the page then.
  getElementError(message, container) {
    const config = getConfig() as { _disableExpensiveErrorDiagnostics?: boolean }
    if (config._disableExpensiveErrorDiagnostics !== true) return getElementError(message, container)
    return Object.assign(new Error(message ?? ''), { name: 'TestingLibraryElementError' })
  }
})
