import { MultiSelect } from '../../ui/fields/select.tsx'
import { useState } from 'react'
import { useOwnNodeGroups } from '../../api/use-me.ts'
import { texts } from '../../../shared/texts/ui/nodes.ts'

/** The initial tags of new nodes: the first group of a user who may add nodes only to some groups; otherwise none. */
export function useNewTags(): [string[], (tags: string[]) => void] {
  const own = useOwnNodeGroups()
  const [chosen, setTags] = useState<string[] | null>(null)
  return [chosen ?? own?.slice(0, 1) ?? [], setTags]
}

/** For users who may add nodes only to some node groups. */
export function NewTagsField({ value, onChange }: { value: string[]; onChange: (tags: string[]) => void }) {
  const own = useOwnNodeGroups()
  if (own === null) return null
  return (
    <MultiSelect
      mt={10}
      label={texts.nodeGroups}
      description={texts.nodeGroupsHint}
      data={[...own]}
      value={value}
      error={value.length === 0 ? texts.chooseAtLeastOne : undefined}
      onChange={onChange}
    />
  )
}
