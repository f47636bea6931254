import { createElement, Fragment, type ReactNode } from 'react'

/** In its own file, because the desktop shell has texts but no React. Example: rich`Sent to ${<b>eu-1</b>}.` */
export const rich = (words: TemplateStringsArray, ...pieces: readonly ReactNode[]): ReactNode =>
  createElement(Fragment, null, ...words.flatMap((word, index) => [word, pieces[index]]))
