import { Dropzone } from '@mantine/dropzone'
import { IconUpload } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { offerFiles, useDroppedFiles } from '../state/dropped-files.ts'
import classes from './frame.module.css'

/** Files dropped anywhere go to who asks for some, else to the projects screen, which says what they are and deploys them. */
export function WindowDropZone() {
  const navigate = useNavigate()
  const taker = useDroppedFiles((state) => state.taker)
  return (
    <Dropzone.FullScreen
      active
      useFsAccessApi={false}
      onDrop={(files) => {
        if (taker !== null) return taker.take(files)
        offerFiles(files)
        void navigate({ to: '/projects' })
      }}
    >
      <div className={classes.drop}>
        <IconUpload size={36} stroke={1.4} aria-hidden />
        <strong>{taker?.title ?? 'Drop to deploy'}</strong>
        <span className="dim">{taker?.text ?? 'an .egg, a .zip, or a project folder with scrapy.cfg'}</span>
      </div>
    </Dropzone.FullScreen>
  )
}
