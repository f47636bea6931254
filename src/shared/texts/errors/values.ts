import { sentencesOf } from '../sentence.ts'

/** What is wrong with a value, for the API and for forms. */
export const valuesErrors = {
  'values.too_many_placeholders': ({ max }: { max: number }) =>
    `It has more than ${max.toLocaleString('en-US')} placeholders. Use fewer.`,
  'values.placeholder_unknown': ({ placeholder, known }: { placeholder: string; known: readonly string[] }) =>
    `${placeholder} is not known here. Use ${known.join(', ')}; write {{ for a literal brace.`,
  'values.too_long_when_expanded': ({ placeholder }: { placeholder: string }) =>
    `A value has more than 16 MB once ${placeholder} is replaced. Use fewer placeholders, or ones that stand for less.`,
  'values.files_limit_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under an open files limit below ${least}; set at least ${least}, or leave it empty`,
  'values.memory_limit_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under a memory limit below ${least} MB; set at least ${least}, or leave it empty`,
  'values.address_space_too_small': ({ least }: { least: number }) =>
    `Scrapy cannot start under an address space limit below ${least} MB; set at least ${least}, or leave it empty`,
  'values.nested_too_deep': ({ depth }: { depth: number }) => `is nested more than ${depth} levels deep`,
  'values.field_not_supported': ({ field }: { field: string }) => `has a field "${field}", which is not supported`,
  'values.too_many_fields': ({ fields }: { fields: number }) =>
    `has more than ${fields.toLocaleString('en-US')} fields in one object`,
  'values.too_many_values': ({ values }: { values: number }) =>
    `has more than ${values.toLocaleString('en-US')} values`,
  'values.too_large': ({ size }: { size: number }) =>
    `is larger than ${size} values and characters when its aliases are replaced`,
  'values.request_refused': ({ problem }: { problem: string }) => `The request ${problem}.`
}

export const sentence = sentencesOf(valuesErrors)
