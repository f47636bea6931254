import { Dropzone } from '@mantine/dropzone'
import { IconUpload } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { offerFiles } from '../state/dropped-files.ts'
import classes from './frame.module.css'

/** Files dropped anywhere go to the projects screen, which says what they are and deploys them. */
export function WindowDropZone() {
  const navigate = useNavigate()
  return (
    <Dropzone.FullScreen
      active
      useFsAccessApi={false}
      onDrop={(files) => {
        offerFiles(files)
        void navigate({ to: '/projects' })
      }}
    >
      <div className={classes.drop}>
        <IconUpload size={36} stroke={1.4} aria-hidden />
        <strong>Drop to deploy</strong>
        <span className="dim">an .egg, a .zip, or a project folder with scrapy.cfg</span>
      </div>
    </Dropzone.FullScreen>
  )
}
