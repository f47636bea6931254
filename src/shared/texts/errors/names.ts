import { sentencesOf } from '../sentence.ts'

/** Why a name cannot be used. Each text follows the name. Timelines need these texts, so `en` contains them, too. */
export const namesErrors = {
  'names.empty': () => 'is empty',
  'names.folder_reference': () => 'is a folder reference',
  'names.slash': () => 'contains a slash',
  'names.backslash': () => 'contains a backslash',
  'names.control_character': () => 'contains a control character',
  'names.half_character': () => 'contains half a character',
  'names.invisible_character': ({ character }: { character: string }) =>
    `contains the invisible character ${character}`,
  'names.forbidden_by_windows': () => 'contains a character that Windows forbids in names',
  'names.end_dropped_by_windows': () => 'ends in a dot or a space, which Windows drops',
  'names.windows_device': () => 'is a Windows device name',
  'names.absolute_path': () => 'is an absolute path',
  'names.drive': () => 'names a drive',
  'names.outside_archive': () => 'points outside the archive',
  'names.too_many_bytes': ({ most }: { most: number }) => `is longer than ${most} bytes`,
  'names.too_long': ({ most }: { most: number }) => `is longer than ${most} characters`
}

export const sentence = sentencesOf(namesErrors)
