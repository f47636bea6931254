import type { Problem } from '../../../shared/contract/index.ts'
import { type Message, written, writtenAs } from '../../../shared/texts/message.ts'

type Given = Pick<Problem, 'id' | 'severity'> & { title: Message; text: Message } & Partial<
    Omit<Problem, 'title' | 'text'>
  >

export function problem({ title, text, ...given }: Given): Problem {
  const said = { ...writtenAs('title', title), ...written(text) }
  return { sinceMs: null, nodeId: null, project: null, spider: null, mend: null, ...said, ...given }
}
