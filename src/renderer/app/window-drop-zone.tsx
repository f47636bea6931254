import { Stack } from '@mantine/core'
import { Dropzone } from '@mantine/dropzone'
import { IconUpload } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useMay } from '../api/use-me.ts'
import { offerFiles, useDroppedFiles } from '../state/dropped-files.ts'
import classes from './frame.module.css'
import { texts } from '../../shared/texts/ui/app.ts'

/**
 * Files dropped anywhere go to the current drop target, or to the projects screen, which deploys them. Drops are
 * handled even if the user may not deploy. Otherwise, a browser would replace the app with the files.
 */
export function WindowDropZone() {
  const navigate = useNavigate()
  const { may, why } = useMay('eggs.deploy')
  const target = useDroppedFiles((state) => state.target)
  return (
    <Dropzone.FullScreen
      active
      useFsAccessApi={false}
      inputProps={{ 'aria-label': texts.fileUpload }}
      onDrop={(files) => {
        if (target !== null) return target.onFiles(files)
        if (!may) return
        offerFiles(files)
        void navigate({ to: '/projects' })
      }}
    >
      <Stack align="center" gap={8} justify="center" className={classes.drop}>
        <IconUpload size={36} stroke={1.4} aria-hidden />
        <strong>{target?.title ?? (may ? texts.dropToDeploy : texts.youCannotDeploy)}</strong>
        <span className="dim">{target?.text ?? why ?? texts.dropToDeployHint}</span>
      </Stack>
    </Dropzone.FullScreen>
  )
}
