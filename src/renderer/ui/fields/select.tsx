import {
  getOptionsLockup,
  getParsedComboboxData,
  MultiSelect as BaseMultiSelect,
  type MultiSelectProps,
  Select as BaseSelect,
  type SelectProps
} from '@mantine/core'
import { type FocusEvent, type KeyboardEvent, type MouseEvent, useMemo, useState } from 'react'
import { listZones } from '../../../shared/calendar/index.ts'
import { localZone } from '../moment.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

/** Marks a field whose text is not an option. The field still has its previous value, so the form cannot be saved. */
export const NOT_AN_OPTION = 'data-not-an-option'

/** The first click selects the whole text, ready to be replaced. A later click places the cursor. */
const selectsOnClick = (input: HTMLInputElement, isFirst: boolean) => {
  if (isFirst) input.dataset['untouched'] = ''
  else if (input.dataset['untouched'] !== undefined) {
    delete input.dataset['untouched']
    input.select()
  }
}

type Typed = Omit<MultiSelectProps, 'value' | 'onChange'>

/**
 * On Enter or blur, a searchable select chooses the typed option. Other text stays in the field with an error until
 * the user corrects it or chooses another option.
 */
function useTyped(props: Typed, isMany: boolean, chosen: string | undefined, choose: (value: string) => void) {
  const [left, setLeft] = useState<string | null>(null)
  const settle = (input: HTMLInputElement): boolean => {
    const text = input.value.trim()
    const options = Object.values(getOptionsLockup(getParsedComboboxData(props.data)))
    const isSettled = !props.searchable || text === '' || text === chosen?.trim()
    const labels = options.map(({ label }) => label.trim())
    const option = isSettled ? undefined : options[findTyped(labels, text)]
    if (option !== undefined) choose(String(option.value))
    setLeft(isSettled || option !== undefined ? null : text)
    return isSettled || option !== undefined
  }
  return {
    ...(left !== null && { searchValue: left, error: texts.notInList(left), [NOT_AN_OPTION]: '' }),
    // Mantine also calls this right before the blur, with the text of the previous option.
    onSearchChange: (text: string) => {
      props.onSearchChange?.(text)
      // Mantine itself clears a select of several values after each choice and on blur.
      if (left !== null) setLeft(isMany && text === '' ? null : text)
    },
    onOptionSubmit: (value: string) => {
      setLeft(null)
      props.onOptionSubmit?.(value)
    },
    onFocus: (event: FocusEvent<HTMLInputElement>) => {
      if (props.searchable) selectsOnClick(event.currentTarget, true)
      props.onFocus?.(event)
    },
    onClick: (event: MouseEvent<HTMLInputElement>) => {
      if (props.searchable) selectsOnClick(event.currentTarget, false)
      props.onClick?.(event)
    },
    onBlur: (event: FocusEvent<HTMLInputElement>) => {
      settle(event.currentTarget)
      props.onBlur?.(event)
    },
    onKeyDown: (event: KeyboardEvent<HTMLInputElement>) => {
      props.onKeyDown?.(event)
      if (chooseTyped(event) || event.key !== 'Enter' || settle(event.currentTarget)) return
      event.preventDefault()
      // Ctrl-Enter would save the previous value.
      event.stopPropagation()
    }
  }
}

/**
 * The common select for one value. The list does not open on focus, because a dialog focuses its first field and the
 * list would cover the fields below.
 */
export function Select<Value extends string = string>(props: SelectProps<Value>) {
  const { value = null, onChange } = props
  const options = getOptionsLockup(getParsedComboboxData(props.data))
  const typed = useTyped(props as Typed, false, value === null ? undefined : options[value]?.label, (chosen) =>
    onChange?.(chosen as never, options[chosen] as never)
  )
  return <BaseSelect<Value> openOnFocus={false} {...props} {...(typed as object)} />
}

export function MultiSelect(props: MultiSelectProps) {
  const { value = [], onChange } = props
  const typed = useTyped(props as Typed, true, undefined, (chosen) => {
    if (value.length < (props.maxValues ?? Infinity) && !value.includes(chosen)) onChange?.([...value, chosen])
  })
  return <BaseMultiSelect openOnFocus={false} {...props} {...(typed as object)} />
}

/** The chosen time zone, the local time zone and UTC come first, followed by all others. */
export function ZoneSelect(props: Omit<SelectProps, 'data'>) {
  const { value = null } = props
  const zones = useMemo(
    () => [...new Set([...(value === null ? [] : [value]), localZone(), 'UTC', ...listZones()])],
    [value]
  )
  return (
    <Select
      {...props}
      data={zones}
      searchable
      allowDeselect={false}
      limit={60}
      nothingFoundMessage={texts.noMatchingTimeZone}
    />
  )
}

/**
 * For a searchable select: Enter chooses the typed or the only remaining option, and Tab chooses the typed option,
 * even if it is not highlighted. Returns false if the text is not an option yet.
 */
function chooseTyped(event: KeyboardEvent<HTMLInputElement>): boolean {
  const { key, currentTarget: input } = event
  const text = input.value.trim()
  if ((key !== 'Enter' && key !== 'Tab') || input.readOnly || text === '') return true
  const list = document.getElementById(input.getAttribute('aria-controls') ?? '')
  const options = [...(list?.querySelectorAll<HTMLElement>('[role=option]') ?? [])]
  const isMarked = options.some((option) => option.hasAttribute('data-combobox-selected'))
  if (isMarked && key === 'Enter') return true
  const typed = findTyped(
    options.map((option) => option.textContent.trim()),
    text
  )
  const only = key === 'Enter' && options.length === 1 ? 0 : -1
  const option = options[typed === -1 ? only : typed]
  if (option === undefined) return false
  // Choosing the chosen option again would clear it.
  if (option.getAttribute('aria-selected') === 'true') return true
  // Ctrl-Enter chooses the option and saves the form.
  if (key === 'Enter' && !event.ctrlKey && !event.metaKey) event.preventDefault()
  option.click()
  return true
}

/** The index of the label that is identical to `text`, or of the only label that differs only in case. -1: none. */
export function findTyped(labels: readonly string[], text: string): number {
  const exact = labels.indexOf(text)
  if (exact !== -1) return exact
  const folded = labels.map((label) => label.toLowerCase())
  const at = folded.indexOf(text.toLowerCase())
  return at === folded.lastIndexOf(text.toLowerCase()) ? at : -1
}
