import { Button, Flex, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.tsx'
import { notifyError } from '../../ui/notify.tsx'
import { NewTagsField, useNewTags } from './new-tags-field.tsx'
import { PullingSetup } from './pulling-setup.tsx'
import classes from './pulling-setup.module.css'
import { texts } from '../../../shared/texts/ui/nodes.ts'

export function AddPullingNode({ onDone }: { onDone: () => void }) {
  const { query } = useApi()
  const [name, setName] = useState('')
  const [tags, setTags] = useNewTags()
  const add = useMutation(
    query.nodes.addPulling.mutationOptions({ onError: (error) => notifyError(texts.couldNotAddNode, error) })
  )
  if (add.data !== undefined) {
    return <PullingSetup name={add.data.node.name} token={add.data.token} onDone={onDone} />
  }
  return (
    <Flex
      component="form"
      align="flex-end"
      gap={8}
      className={classes.add}
      onSubmit={(event) => {
        event.preventDefault()
        add.mutate({ name: name.trim(), tags })
      }}
    >
      <TextInput
        label={texts.name}
        description={texts.pullingNodeHint}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        maxLength={100}
        data-autofocus
      />
      <NewTagsField value={tags} onChange={setTags} />
      <Button type="submit" variant="filled" disabled={name.trim() === ''} loading={add.isPending}>
        {texts.createToken}
      </Button>
    </Flex>
  )
}
