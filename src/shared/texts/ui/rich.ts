import { createElement, Fragment, type ReactNode } from 'react'

/**
 * A sentence that contains elements, in the order of its language: rich`Sent to ${<b>eu-1</b>} as ${name}.` In its own
 * file, because the desktop shell has texts but no React.
 */
export const rich = (words: TemplateStringsArray, ...pieces: readonly ReactNode[]): ReactNode =>
  createElement(Fragment, null, ...words.flatMap((word, index) => [word, pieces[index]]))
