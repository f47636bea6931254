import { connectDesktop, connectWire } from './api/wire.ts'
import { startApp } from './app/start-app.tsx'

startApp(await connectWire(), await connectDesktop())
