import { schemaResolver, useForm, type UseFormReturnType } from '@mantine/form'
import { type FormEvent, useEffect, useMemo, useRef, useState } from 'react'
import type { z } from 'zod'
import type { ErrorCode } from '../../../shared/errors.ts'
import { explainError } from '../../api/explain-error.ts'
import './issue-words.ts'
import { NOT_AN_OPTION } from './select.tsx'

/** A form or a part of it. Its paths match the schema's, and the contract's if there is one. */
export interface Fields<Values> {
  readonly values: Values
  input(name: keyof Values & string, type?: 'checkbox'): ReturnType<UseFormReturnType<object>['getInputProps']>
  /** The problem with a field, once the user has changed the field or tried to save. */
  error(path: string): string | undefined
  /** Like `error`, but available immediately, for fields that are valid while empty. */
  problem(path: string): string | undefined
  hasError(...names: (keyof Values & string)[]): boolean
  change(patch: Partial<Values>): void
  within<Name extends keyof Values & (string | number)>(name: Name): Fields<Values[Name]>
}

export interface FormState {
  readonly isDirty: boolean
  readonly isSaving: boolean
  /** Whether the user tried to save while fields were invalid. */
  readonly isRefused: boolean
  /** The engine's reason for refusing to save, unless it concerns one field. null: it did not refuse. */
  readonly failure: unknown
  readonly element: React.RefObject<HTMLFormElement | null>
  clearFailure(): void
  submit(event?: FormEvent<HTMLFormElement>): void
}

export interface FormOf<Values, Output> extends Fields<Values>, FormState {
  /** The values that would be saved now. null: a field is invalid. */
  readonly output: Output | null
  /** Starts over with these values, after the previous values are saved or discarded. */
  restart(values: Values): void
}

interface FormOptions<Values, Output> {
  schema: z.ZodType<Output, Values>
  start: () => Values
  /** If this throws, the fields keep their text. */
  save: (output: Output) => Promise<unknown>
}

/** The field that an engine error concerns, for errors that do not name it. */
const FIELD_OF_CODE: Partial<Record<ErrorCode, string>> = {
  NODE_URL_INVALID: 'url',
  NODE_DUPLICATE: 'url',
  WEBHOOK_URL_FORBIDDEN: 'url',
  PROJECT_NOT_FOUND: 'project',
  VERSION_NOT_FOUND: 'version',
  SPIDER_NOT_FOUND: 'spiders',
  USER_NAME_TAKEN: 'name',
  ROLE_NAME_TAKEN: 'name',
  GROUP_NAME_TAKEN: 'name'
}

/** Connects a form to the contract: Mantine holds the values, and the schema validates them field by field. */
export function useFormOf<Values extends object, Output>(options: FormOptions<Values, Output>): FormOf<Values, Output> {
  const { schema, save } = options
  const [start] = useState(options.start)
  const [wasTried, setTried] = useState(false)
  const [refusal, setRefusal] = useState<{ path: string | null; error: unknown } | null>(null)
  const element = useRef<HTMLFormElement>(null)
  const form: UseFormReturnType<Values, Output> = useForm<Values, Output>({
    initialValues: start,
    validate: schemaResolver(schema, { sync: true }),
    transformValues: (values) => schema.parse(values),
    onValuesChange: () => setRefusal(null),
    enhanceGetInputProps: ({ field }) => ({ error: error(String(field)) })
  })
  const { values } = form
  const read = useMemo(() => schema.safeParse(values), [schema, values])
  const problems = useMemo(() => problemsOf(read), [read])
  // If one input holds a list (such as tags), it shows the errors of the list's entries.
  const problemAt = (path: string) =>
    problems.get(path) ?? [...problems].find(([each]) => each.startsWith(`${path}.`))?.[1]
  const error = (path: string): string | undefined => {
    if (refusal !== null && refusal.path === path) return explainError(refusal.error).text
    return wasTried || form.isDirty(path as never) ? problemAt(path) : undefined
  }
  // Focuses the first invalid field after the collapsed section around it has opened.
  const [tries, setTries] = useState(0)
  useEffect(() => {
    if (tries > 0) element.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [tries])

  const submit = form.onSubmit(
    async (output) => {
      setRefusal(null)
      try {
        await save(output)
      } catch (failure) {
        setRefusal({ path: fieldOf(failure, values), error: failure })
        setTries((count) => count + 1)
      }
    },
    () => {
      setTried(true)
      setTries((count) => count + 1)
    }
  )
  function fields<Part>(path: string, part: Part): Fields<Part> {
    const at = (name: string) => (path === '' ? name : `${path}.${name}`)
    return {
      values: part,
      input: (name, type = undefined) => form.getInputProps(at(name) as never, { type: type ?? 'input' }),
      error: (name) => error(at(name)),
      problem: (name) => problemAt(at(name)),
      hasError: (...names) =>
        [...problems.keys()].some(
          (each) =>
            names.some((name) => each === at(name) || each.startsWith(`${at(name)}.`)) && error(each) !== undefined
        ),
      change: (patch) =>
        path === ''
          ? form.setValues(patch as never)
          : form.setFieldValue(path as never, ((before: Part) => ({ ...before, ...patch })) as never),
      within: (name) => fields(at(String(name)), part[name])
    }
  }
  return {
    ...fields('', values),
    output: read.success ? read.data : null,
    isDirty: form.isDirty(),
    isSaving: form.submitting,
    isRefused: wasTried && !read.success,
    failure: refusal?.path === null ? refusal.error : null,
    element,
    restart: (next) => {
      form.setValues(next)
      form.resetDirty(next)
      setTried(false)
    },
    clearFailure: () => setRefusal(null),
    submit: (event) => {
      event?.preventDefault()
      const unchosen = element.current?.querySelector<HTMLElement>(`[${NOT_AN_OPTION}]`)
      if (unchosen != null) (unchosen.querySelector('input') ?? unchosen).focus()
      else if (!form.submitting) submit(event)
    }
  }
}

export function problemsOf({ error }: z.ZodSafeParseResult<unknown>): Map<string, string> {
  const issues = (error?.issues ?? []).map(({ path, message }): [string, string] => [path.join('.'), message])
  return new Map(issues.filter(([path], index) => issues.findIndex(([other]) => other === path) === index))
}

/** The field that an error names. null: the form does not have it. */
function fieldOf(failure: unknown, values: object): string | null {
  const { code } = explainError(failure)
  const named = (failure as { data?: { field?: unknown } } | null)?.data?.field
  const path = typeof named === 'string' ? named : code === null ? undefined : FIELD_OF_CODE[code]
  return path !== undefined && path.split('.')[0]! in values ? path : null
}
